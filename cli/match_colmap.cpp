#include "match_colmap.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nearfield/colmap.hpp>
#include <nearfield/error.hpp>
#include <nearfield/match_pairs.hpp>
#include <nearfield/version.hpp>

#include "json.hpp"
#include "options.hpp"
#include "rate.hpp"
#include "search_run.hpp"
#include "standard_output.hpp"

namespace nearfield::cli {
namespace {

constexpr auto kColmap = "COLMAP";
constexpr std::int64_t kUsualOverlap = 10;  // COLMAP's

constexpr std::int64_t kPairBytes = sizeof(ImagePair);
constexpr std::int64_t kLeftOutBytes = 24;  // of a pair, beside it, while without_matched looks
constexpr auto kPairsOfImages = "pairs of images";
constexpr auto kFewerPairs = "match fewer of them";

// Most that a crash or a second Ctrl-C can lose; what committing takes is little beside it.
constexpr std::chrono::seconds kBetweenCommits{2};

// Commits every few seconds what is written. To overwrite, a pair's old matches are removed with
// the same commit that brings the new ones: a run that fails leaves those that it did not reach.
class MatchWriter {
 public:
  MatchWriter(ColmapDatabase& database, bool overwrite)
      : database_(database), overwrite_(overwrite) {
    database_.begin();
  }

  void write(ImagePair pair, const Pairs& matches) {
    if (overwrite_) database_.clear_matches({&pair, 1});
    database_.write(pair, matches);
    ++written_;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_commit_ < kBetweenCommits) return;
    database_.commit();
    database_.begin();
    last_commit_ = now;
  }

  void finish() { database_.commit(); }
  std::int64_t written() const { return written_; }

 private:
  ColmapDatabase& database_;
  bool overwrite_;
  std::int64_t written_ = 0;
  std::chrono::steady_clock::time_point last_commit_ = std::chrono::steady_clock::now();
};

// Frames of a video follow each other by their names, as in COLMAP; ids need not.
std::vector<ImagePair> sequential_by_name(const ColmapDatabase& database, std::int64_t overlap) {
  std::vector<std::int64_t> by_name(static_cast<std::size_t>(database.images()));
  std::iota(by_name.begin(), by_name.end(), std::int64_t{0});
  std::ranges::sort(by_name, {},
                    [&](std::int64_t image) -> const std::string& { return database.name(image); });
  std::vector<ImagePair> pairs = sequential_pairs(database.images(), overlap);
  for (ImagePair& pair : pairs) {
    pair = {by_name[static_cast<std::size_t>(pair.first)],
            by_name[static_cast<std::size_t>(pair.second)]};
  }
  return pairs;
}

// Counted before they are made: a database of 20 MB may have a million images, whose pairs take 8
// TB. Only of a list it is known when it was read.
std::vector<ImagePair> chosen_pairs(const ColmapArguments& args, const ColmapDatabase& database,
                                    const Context& context) {
  const std::int64_t images = database.images();
  const auto check_fits = [&](std::int64_t pairs) {
    check_within_limit(context, pairs, args.overwrite ? kPairBytes : kPairBytes + kLeftOutBytes,
                       kPairsOfImages, kFewerPairs);
  };
  if (args.pairs == "exhaustive") {
    check_fits(count_sequential_pairs(images, images));
    return exhaustive_pairs(images);
  }
  if (args.pairs == "sequential") {
    const std::int64_t overlap = args.overlap.value_or(kUsualOverlap);
    check_fits(count_sequential_pairs(images, overlap));
    return sequential_by_name(database, overlap);
  }
  std::vector<ImagePair> listed = read_image_pairs(args.pairs, database);
  check_fits(std::ssize(listed));
  return listed;
}

std::string what_was_done(std::int64_t written, std::size_t pairs, bool overwrite) {
  return overwrite ? fmt::format(
                         "{} of {} pairs of images are matched anew and the others as they were; "
                         "--overwrite would begin with all of them again",
                         written, pairs)
                   : fmt::format(
                         "{} of {} pairs of images are in the database, run the command again "
                         "for the others",
                         written, pairs);
}

MatchPairsStats match_and_write(ColmapDatabase& database, std::span<const ImagePair> pairs,
                                bool overwrite, const MatchOptions& options,
                                const Context& context) {
  MatchWriter writer(database, overwrite);
  const auto take = [&](std::int64_t place, const Pairs& matches) {
    writer.write(pairs[static_cast<std::size_t>(place)], matches);
  };
  try {
    const MatchPairsStats stats = match_pairs(database, pairs, take, options, context);
    writer.finish();
    return stats;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::cancelled && error.code() != ErrorCode::deadline_exceeded) throw;
    writer.finish();
    throw Error(error.code(),
                fmt::format("{}; {}", error.what(),
                            what_was_done(writer.written(), pairs.size(), overwrite)));
  }
}

void report(const ColmapDatabase& database, std::size_t chosen, const MatchPairsStats& stats,
            const OutputOptions& output) {
  const double rate = stats.seconds > 0 ? static_cast<double>(stats.pairs) / stats.seconds : 0;
  const std::int64_t there = static_cast<std::int64_t>(chosen) - stats.pairs;
  if (!output.quiet) {
    fmt::print(
        stderr,
        "match: {} images, {} pairs of them, {} were there: {} matches found in {:.3f} s, {} "
        "image pairs/s\n",
        database.images(), chosen, there, stats.matches, stats.seconds, with_prefix(rate));
  }
  if (!output.json) return;
  JsonObject took;
  took.add("seconds", stats.seconds)
      .add("image_pairs", stats.pairs)
      .add("image_pairs_per_second", rate)
      .add("reading_seconds", stats.reading_seconds)
      .add("writing_seconds", stats.taking_seconds)
      .add("images_read", stats.images_read)
      .add("most_bytes_kept", stats.most_bytes_kept);
  JsonObject json;
  json.add("nearfield", version())
      .add("command", "match")
      .add("images", database.images())
      .add("image_pairs", chosen)
      .add("already_matched", there)
      .add("found", stats.matches)
      .add("stats", took);
  print_result(json.text());
}

}  // namespace

void add_colmap_options(CLI::App& app, ColmapArguments& args) {
  add_path(
      app, "--colmap", args.database,
      "COLMAP database with SIFT descriptors, instead of two images: matches are written to it, "
      "by the rules of COLMAP's matcher (ratio 0.8, distance at most 0.7, cross check tested); "
      "pairs that have some are left out")
      ->group(kColmap);
  add_path(
      app, "--pairs", args.pairs,
      "Which images to match: exhaustive, sequential (by their names), or a file with two names "
      "a line")
      ->group(kColmap)
      ->needs("--colmap")
      ->type_name("PAIRS")
      ->default_str(args.pairs);
  add_parsed(app, "--overlap", args.overlap,
             count_within(1, std::numeric_limits<std::int64_t>::max()),
             "Of --pairs sequential: every image with so many that follow it")
      ->group(kColmap)
      ->needs("--pairs")
      ->type_name("N")
      ->default_str(std::to_string(kUsualOverlap));
  app.add_flag("--overwrite", args.overwrite,
               "Match these pairs anew: as each is done, the matches it had go, and COLMAP's "
               "geometry of it")
      ->group(kColmap)
      ->needs("--colmap");
}

void match_colmap(const ColmapArguments& args, const MatchOptions& options, const RunOptions& run,
                  const OutputOptions& output) {
  if (args.overlap && args.pairs != "sequential") {
    throw CLI::RequiresError("--overlap", "--pairs sequential");
  }
  Context context = context_of(run, {});
  ColmapDatabase database(args.database);
  std::vector<ImagePair> pairs = chosen_pairs(args, database, context);
  const std::size_t chosen = pairs.size();
  if (!args.overwrite) pairs = database.without_matched(pairs);
  take_off_limit(context, std::ssize(pairs), kPairBytes, kPairsOfImages, kFewerPairs);
  const MatchPairsStats stats = run_watched(context, output.quiet, [&](const Context& watched) {
    return match_and_write(database, pairs, args.overwrite, options, watched);
  });
  report(database, chosen, stats, output);
}

}  // namespace nearfield::cli
