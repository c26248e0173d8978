// Error-weighted hashing on a device: rows are scored and verified there, and the host says which
// buckets are near.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nearfield/context.hpp>

#include "device/gpu/array_tiles.hpp"
#include "device/gpu/gpu.hpp"
#include "distance/gpu/key_step.hpp"
#include "distance/gpu/pair_list.hpp"
#include "hash/gpu/score_step.hpp"
#include "index/ewh/ewh_worker.hpp"

namespace nearfield {

// Rows and the lists of their buckets are copied to the device by the first search of a run and
// stay there, where there is room; else they come piece by piece, with each group of queries, and
// of the lists what these need. While the device works on some queries, the host looks up the
// buckets of the next.
class EwhDevice final : public EwhWorker {
 public:
  // `name` is one of the context's devices. Throws unsupported where there is no float64.
  EwhDevice(const Context& context, std::string_view name, std::int64_t cols);

  const std::string& id() const { return id_; }

  // What one takes of the host, with a run: the lists of two batches, or of all while they are
  // copied, and what is found.
  static std::int64_t host_bytes(const EwhRun& run) {
    constexpr std::int64_t kEntry = sizeof(std::uint32_t);
    constexpr std::int64_t kFound = sizeof(std::uint64_t) + sizeof(double);
    return run.rows.size() * (2 * run.shape.tables * kEntry + kFound);
  }

  // Throws memory_limit where the device has no room for a piece of 64 rows.
  void find(std::span<const EwhAsking> asking, const EwhRows& in, Range piece,
            const Monitor& monitor) override;

 private:
  // What kernels read of a run.
  struct Rows {
    gpu::ArrayTile rows;                 // of all of it, or of a piece
    std::unique_ptr<gpu::Buffer> lists;  // table behind table; none of a piece
  };
  // Rows that do not stay, and what they are scored in.
  struct Part {
    Rows rows;
    DeviceScores scores;
  };
  // Queries that are scored at once.
  struct Batch {
    std::span<const EwhAsking> asking;
    std::vector<BucketPiece> pieces;
    std::vector<std::uint32_t> lists;  // where the device has none
    std::vector<std::byte> queries;
    std::int64_t rows_met = 0;
  };

  // A run that is on the device.
  struct UsedCopy {
    const EwhRun* run;
    std::shared_ptr<const Rows> rows;
  };

  std::shared_ptr<const Rows> copy_of(const EwhRows& in);
  std::shared_ptr<const Rows> make_copy(const EwhRows& in);
  std::optional<Part> make_part(const EwhRows& in, Range piece);
  std::int64_t most_addressed(const EwhRun& run) const;
  std::int64_t rows_at_once(const EwhRows& in) const;
  void find_in_copy(std::span<const EwhAsking> asking, const EwhRows& in, Range piece,
                    const Rows& copy, const Monitor& monitor);
  [[noreturn]] void fail_without_room(std::int64_t rows) const;
  void find_in(std::span<const EwhAsking> asking, const EwhRows& in, Range piece, const Rows& rows,
               const DeviceScores& scores, const Monitor& monitor);
  void find_in_halves(std::span<const EwhAsking> asking, const EwhRows& in, Range piece,
                      const Rows& rows, const DeviceScores& scores, const Monitor& monitor);
  bool makes_room(const Batch& batch, std::int64_t found);
  void prepare(const EwhRows& in, Range piece, bool with_lists, Batch& batch);
  void score(const EwhRows& in, Range piece, const Rows& rows, const DeviceScores& scores,
             const Batch& batch);
  void collect(const EwhRows& in, Range piece, const Batch& batch);
  // What it held is lost where it is too small. No work that uses it may be queued.
  void make_room_in(std::unique_ptr<gpu::Buffer>& buffer, std::int64_t bytes);
  // Until the queue is waited for, the values must stay.
  void write(std::span<const std::byte> values, gpu::Buffer& to);

  gpu::Device& device_;
  std::string id_;
  std::unique_ptr<gpu::Queue> queue_;
  std::int64_t limit_;
  std::int64_t room_;  // of the limit, without copies; halved where the device has less
  std::int64_t query_stride_;
  KeyStep keys_;
  std::vector<UsedCopy> copies_;
  std::vector<std::uint32_t> query_buckets_;
  std::vector<std::uint64_t> places_;
  std::vector<double> found_keys_;
  std::unique_ptr<gpu::Buffer> pieces_;
  std::unique_ptr<gpu::Buffer> lists_;
  gpu::ArrayTile queries_;
  std::optional<PairList> list_;
  std::uint32_t count_ = 0;
  std::uint32_t wrong_ = 0;
};

}  // namespace nearfield
