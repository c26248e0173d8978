#include <nearfield/match_pairs.hpp>

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "core/checked.hpp"
#include "core/fail.hpp"
#include "core/memory_errors.hpp"
#include "core/monitor.hpp"
#include "core/tasks.hpp"
#include "device/device_name.hpp"
#include "search/match_tests.hpp"
#include "search/pair_order.hpp"
#include "search/pair_results.hpp"
#include "search/ready_images.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kMostKeptBytes = std::int64_t{1} << 30;   // where there is no limit
constexpr std::int64_t kMostFoundBytes = std::int64_t{1} << 25;  // of matches until they are taken

// Pairs of images with more pairs of descriptors are matched by all threads, one after the other: a
// thread alone would take more than 50 ms, and who waits for the last of them as long. 16,384
// squared.
constexpr std::int64_t kLargePair = std::int64_t{1} << 28;

// What a thread has of a wave, in pairs of descriptors. Waves begin small and double until they
// take a while, whatever the machine: they are waited for, but what is matched is to be taken soon.
constexpr std::int64_t kFirstWaveOfAThread = std::int64_t{1} << 22;
constexpr std::int64_t kMostWaveOfAThread = 4 * kLargePair;
constexpr double kWaveSeconds = 0.2;

// How a limit is shared, after what is taken whatever is kept.
struct Shares {
  Shares(const std::optional<std::int64_t>& limit, std::int64_t fixed)
      : images(limit ? (*limit - fixed) / 2 : kMostKeptBytes),
        found(limit ? std::min((*limit - fixed) / 8, kMostFoundBytes) : kMostFoundBytes) {
    if (!limit) return;
    searches = *limit - fixed - images - found;
    if (*limit >= fixed) return;
    fail(ErrorCode::memory_limit,
         "the order of the pairs and what an image is made ready by take {} bytes but the memory "
         "limit is {}: raise it, or match fewer pairs at a time",
         fixed, *limit);
  }

  std::int64_t images;
  std::int64_t found;
  std::optional<std::int64_t> searches;
};

class PairMatcher {
 public:
  PairMatcher(const ImageFeatures& features, std::span<const ImagePair> pairs,
              const MatchOptions& options, const Context& context)
      : features_(features),
        pairs_(pairs),
        options_(options),
        context_(context),
        threads_(resolve_threads(context.threads)),
        alone_(alone(context)),
        images_(features, options.metric, alone_),
        shares_(context.memory_limit, fixed_bytes()),
        monitor_(context, descriptor_pairs()) {
    check_match(options, features.dtype(), features.dtype());
  }

  MatchPairsStats run(const TakeMatches& take) {
    const PairBlocks blocks = blocks_of_pairs(pairs_, checked_image_bytes(), shares_.images);
    for (std::int64_t i = 0; i < blocks.count(); ++i) {
      const Wave block = blocks.block(i);
      const double before_reading = monitor_.seconds();
      keep_images_of(block);
      stats_.reading_seconds += monitor_.seconds() - before_reading;
      for (std::size_t first = 0; first < block.size();) {
        const std::size_t end = end_of_wave(block, first);
        const Wave wave = block.subspan(first, end - first);
        const double begin = monitor_.seconds();
        const std::vector<Pairs> found = matches_of(wave);
        const double before_taking = monitor_.seconds();
        take_wave(wave, found, take);
        stats_.taking_seconds += monitor_.seconds() - before_taking;
        if (monitor_.seconds() - begin < kWaveSeconds) {
          wave_of_a_thread_ = std::min(2 * wave_of_a_thread_, kMostWaveOfAThread);
        }
        first = end;
      }
    }
    monitor_.finish();
    stats_.images_read = images_.images_read();
    stats_.most_bytes_kept = images_.most_bytes_kept();
    stats_.seconds = monitor_.seconds();
    return stats_;
  }

 private:
  using Wave = std::span<const std::int64_t>;  // places of pairs

  // For one pair or image beside others: what is shared is watched by monitor_.
  static Context alone(const Context& context) {
    Context one = context;
    one.threads = 1;
    one.progress = {};
    one.memory_limit = std::nullopt;
    return one;
  }

  // The order of the pairs, and one image that is made ready.
  std::int64_t fixed_bytes() const {
    return checked_add(
        checked_mul(std::ssize(pairs_), kOrderBytesOfAPair, "bytes of pairs"),
        checked_add(checked_mul(features_.images(), kOrderBytesOfAnImage, "bytes of images"),
                    images_.making_bytes(), "bytes of images"),
        "bytes of pairs");
  }

  // How many images may be made ready at a time, beside that one: searches wait meanwhile.
  int makers() const {
    if (!shares_.searches || images_.making_bytes() == 0) return threads_;
    const std::int64_t beside = *shares_.searches / images_.making_bytes();
    return static_cast<int>(std::min<std::int64_t>(threads_, 1 + beside));
  }

  const ImagePair& pair(std::int64_t place) const {
    return pairs_[static_cast<std::size_t>(place)];
  }

  std::int64_t descriptor_pairs(const ImagePair& images) const {
    return checked_mul(features_.rows(images.first), features_.rows(images.second),
                       "pairs of descriptors");
  }

  // Of all, after their images are known to be there.
  std::int64_t descriptor_pairs() const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      const auto [first, second] = pairs_[i];
      if (std::min(first, second) < 0 || std::max(first, second) >= features_.images()) {
        fail(ErrorCode::invalid_argument,
             "pair {} is of images {} and {}, but there are {}, numbered from 0", i, first, second,
             features_.images());
      }
      if (first == second) {
        fail(ErrorCode::invalid_argument, "pair {} is of image {} and itself", i, first);
      }
      sum = checked_add(sum, descriptor_pairs(pairs_[i]), "pairs of descriptors");
    }
    return sum;
  }

  std::vector<std::int64_t> checked_image_bytes() const {
    std::vector<std::int64_t> bytes(static_cast<std::size_t>(features_.images()));
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = images_.bytes_of(static_cast<std::int64_t>(i));
    }
    if (!context_.memory_limit) return bytes;
    for (const ImagePair& images : pairs_) {
      if (descriptor_pairs(images) == 0) continue;  // nothing of them is read
      const auto [first, second] = images;
      const std::int64_t both = checked_add(bytes[static_cast<std::size_t>(first)],
                                            bytes[static_cast<std::size_t>(second)], "bytes");
      if (both <= shares_.images) continue;
      fail(ErrorCode::memory_limit,
           "images {} and {}, of {} and {} descriptors, take {} bytes, and {} of the memory limit "
           "of "
           "{} are for images: raise it to {}",
           first, second, features_.rows(first), features_.rows(second), both, shares_.images,
           *context_.memory_limit, *context_.memory_limit + 2 * (both - shares_.images));
    }
    return bytes;
  }

  void keep_images_of(Wave block) {
    std::vector<std::int64_t> images;
    for (const std::int64_t place : block) {
      if (descriptor_pairs(pair(place)) == 0) continue;
      images.push_back(pair(place).first);
      images.push_back(pair(place).second);
    }
    std::sort(images.begin(), images.end());
    images.erase(std::unique(images.begin(), images.end()), images.end());
    images_.keep(images, makers(), monitor_);
  }

  // As many pairs as their matches have room for and threads are to have work for. At least one,
  // and a large one alone.
  std::size_t end_of_wave(Wave block, std::size_t first) const {
    std::int64_t room = shares_.found;
    std::int64_t work = wave_of_a_thread_ * threads_;
    std::size_t end = first;
    for (; end < block.size(); ++end) {
      const std::int64_t size = descriptor_pairs(pair(block[end]));
      const std::int64_t matches = most_matches(pair(block[end]));
      room -= static_cast<std::int64_t>(sizeof(Pairs)) + matches * kPairResultBytes;
      work -= size;
      const bool one_more = room >= 0 && work >= 0 && size < kLargePair;
      if (!one_more) return std::max(end, first + 1);
    }
    return end;
  }

  std::int64_t most_matches(const ImagePair& images) const {
    const std::int64_t first = features_.rows(images.first);
    if (options_.cross_check == CrossCheck::none) return first;
    return std::min(first, features_.rows(images.second));
  }

  // Each by one thread; large ones, and where there are few, by all.
  std::vector<Pairs> matches_of(Wave wave) {
    std::vector<Pairs> found(wave.size());
    std::vector<std::size_t> by_one;
    std::vector<std::size_t> by_all;
    for (std::size_t i = 0; i < wave.size(); ++i) {
      const std::int64_t size = descriptor_pairs(pair(wave[i]));
      if (size == 0) {
        found[i].exact = true;
      } else {
        (size < kLargePair && !on_device(context_) ? by_one : by_all).push_back(i);
      }
    }
    const int side_by_side = by_one.empty() ? 0 : workers(wave, by_one);
    if (side_by_side < 2) by_all.insert(by_all.end(), by_one.begin(), by_one.end());
    if (side_by_side >= 2) match_side_by_side(wave, by_one, side_by_side, found);
    for (const std::size_t i : by_all) found[i] = match_by_all(pair(wave[i]));
    return found;
  }

  // Of several that fail the first in order is named, whoever was first in time.
  void match_side_by_side(Wave wave, const std::vector<std::size_t>& chosen, int workers,
                          std::vector<Pairs>& found) {
    std::vector<std::exception_ptr> failed(chosen.size());
    run_tasks(std::ssize(chosen), workers, [&](std::int64_t task, int) {
      const std::size_t i = chosen[static_cast<std::size_t>(task)];
      try {
        found[i] = match_beside_others(pair(wave[i]));
      } catch (...) {
        failed[static_cast<std::size_t>(task)] = std::current_exception();
        monitor_.check();
      }
    });
    for (const std::exception_ptr& error : failed) {
      if (error) std::rethrow_exception(error);
    }
  }

  // How many may search at a time: as many as the memory is for, if there is work for all threads.
  int workers(Wave wave, const std::vector<std::size_t>& by_one) const {
    if (static_cast<std::int64_t>(by_one.size()) < threads_) return 1;
    if (!shares_.searches) return threads_;
    std::int64_t most = 1;
    for (const std::size_t i : by_one) {
      const auto [first, second] = pair(wave[i]);
      const Plan plan = plan_match(images_.rows(first), images_.rows(second), options_, alone_);
      most = std::max(most, plan.working_bytes + plan.result_bytes);
    }
    return static_cast<int>(std::min<std::int64_t>(threads_, *shares_.searches / most));
  }

  Pairs match_beside_others(const ImagePair& images) {
    Pairs found = match_named(images, alone_);
    monitor_.advance(descriptor_pairs(images));
    return found;
  }

  Pairs match_by_all(const ImagePair& images) {
    const std::int64_t size = descriptor_pairs(images);
    std::int64_t reported = 0;
    Context all = context_;
    all.memory_limit = shares_.searches;
    all.progress = [&](const Progress& progress) {  // which may count a pair from both sides
      const double part = static_cast<double>(progress.done) / static_cast<double>(progress.total);
      const auto now = static_cast<std::int64_t>(part * static_cast<double>(size));
      monitor_.advance(now - reported);
      reported = now;
    };
    Pairs found = match_named(images, all);
    monitor_.advance(size - reported);
    return found;
  }

  // What is wrong with a pair is said with its images.
  Pairs match_named(const ImagePair& images, const Context& context) const {
    try {
      return match(images_.rows(images.first), images_.rows(images.second), options_, context);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::cancelled || error.code() == ErrorCode::deadline_exceeded) {
        throw;
      }
      if (error.code() == ErrorCode::memory_limit && context_.memory_limit) {
        fail(error.code(),
             "images {} and {}, with {} of the memory limit of {} for their search: {}",
             images.first, images.second, *shares_.searches, *context_.memory_limit, error.what());
      }
      fail(error.code(), "images {} (queries) and {} (base): {}", images.first, images.second,
           error.what());
    }
  }

  void take_wave(Wave wave, const std::vector<Pairs>& found, const TakeMatches& take) {
    for (std::size_t i = 0; i < wave.size(); ++i) {
      monitor_.check();
      take(wave[i], found[i]);
      ++stats_.pairs;
      stats_.matches += static_cast<std::int64_t>(found[i].first.size());
    }
  }

  const ImageFeatures& features_;
  const std::span<const ImagePair> pairs_;
  const MatchOptions& options_;
  const Context& context_;
  const int threads_;
  const Context alone_;
  ReadyImages images_;
  const Shares shares_;
  Monitor monitor_;
  std::int64_t wave_of_a_thread_ = kFirstWaveOfAThread;
  MatchPairsStats stats_;
};

}  // namespace

MatchPairsStats match_pairs(const ImageFeatures& features, std::span<const ImagePair> pairs,
                            const TakeMatches& take, const MatchOptions& options,
                            const Context& context) {
  return with_memory_errors(
      fmt::format("{} pairs of {} images: match fewer at a time, or set a memory limit",
                  pairs.size(), features.images()),
      [&] { return PairMatcher(features, pairs, options, context).run(take); });
}

}  // namespace nearfield
