// Local search quantization on a device: what code/local_search.hpp does on the CPU, with the same
// bits. docs/codes.md#on-devices.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <nearfield/context.hpp>

#include "code/icm_words.hpp"
#include "code/local_search.hpp"
#include "core/monitor.hpp"
#include "device/gpu/gpu.hpp"

namespace nearfield {

class LsqDevice {
 public:
  // The one device of the context. Throws unsupported where it has no float64.
  explicit LsqDevice(const Context& context);

  // For the searches that follow, of up to `most_rows` rows each: makes the tables of IcmTables.
  // Throws memory_limit where these and one row do not fit.
  void load(const Codebooks& codebooks, std::int64_t most_rows, const Monitor& monitor);

  // What it takes of the host.
  static std::int64_t loading_bytes(int codebooks, int codewords, std::int64_t cols);

  // As search_codes with the codebooks that were loaded.
  void search(const LocalSearch& search, const float* rows, std::int64_t count, StartCodes start,
              std::uint8_t* codes, float* costs, Monitor& monitor);

  // What least squares need of rows and their codes.
  struct Statistics {
    double* sums;            // [codebook][code][column]: of the rows that have it, in their order
    std::uint32_t* members;  // [codebook][code]: how many they are
    // Of each codebook but the last: [later codebook][code][code of that], how often they meet.
    std::function<void(int first, const std::uint32_t* meetings)> use_meetings;
  };
  // Tables that were loaded are gone then: there may be no room for both.
  void add_up(const Codebooks& codebooks, const float* rows, std::int64_t count,
              const std::uint8_t* codes, const Statistics& to, const Monitor& monitor);
  // What it takes of the host beside `to`.
  static std::int64_t adding_bytes(int codebooks, int codewords);

 private:
  struct Shape {
    int codebooks = 0;
    int codewords = 0;
    std::int64_t cols = 0;
    std::int64_t padded_cols = 0;
    std::int64_t pairs = 0;
    double quantum = 1;
    double twice_word_step = 1;
  };

  // What steps read of codebooks.
  struct Tables {
    std::unique_ptr<gpu::Buffer> centre;
    std::unique_ptr<gpu::Buffer> words;
    std::unique_ptr<gpu::Buffer> norms;
    std::unique_ptr<gpu::Buffer> rounded;
    std::unique_ptr<gpu::Buffer> pairs;
  };

  // Vectors that are searched for at once, and what is known of each.
  struct Batch {
    std::int64_t room = 0;  // vectors
    std::unique_ptr<gpu::Buffer> rows;
    std::unique_ptr<gpu::Buffer> rounded;
    std::unique_ptr<gpu::Buffer> unaries;  // [codebook][vector][code]
    std::unique_ptr<gpu::Buffer> codes;    // of this round, a byte each
    std::unique_ptr<gpu::Buffer> best;
    std::unique_ptr<gpu::Buffer> stale;
    std::unique_ptr<gpu::Buffer> streams;
    std::unique_ptr<gpu::Buffer> inverses;
    std::unique_ptr<gpu::Buffer> scales;
    std::unique_ptr<gpu::Buffer> costs;
  };

  static std::int64_t bytes_of_tables(const Shape& shape);
  static std::int64_t bytes_of_a_vector(const Shape& shape);
  std::int64_t vectors_at_once(std::int64_t most_rows) const;
  template <class Values>
  std::unique_ptr<gpu::Buffer> copied(const Values& values);
  void make_tables(IcmWords& words, const Monitor& monitor);
  Batch make_batch(std::int64_t room);
  std::int64_t rows_added_at_once(const Codebooks& codebooks) const;

  std::int64_t blocks_of(std::int64_t threads) const;
  // A kernel of code_rows.cu.
  void run(std::string_view entry, const gpu::Grid& grid,
           std::initializer_list<gpu::Argument> arguments);
  void measure(std::int64_t count);
  void sweep(const std::vector<int>& order, std::int64_t count);
  void keep_better(std::int64_t count, bool are_first);
  void search_batch(const LocalSearch& search, const float* rows, std::int64_t count,
                    StartCodes start, std::uint8_t* codes, float* costs, const Monitor& monitor);

  gpu::Device& device_;
  std::string id_;
  std::unique_ptr<gpu::Queue> queue_;
  std::int64_t limit_;
  Shape shape_;
  Tables tables_;
  Batch batch_;
};

}  // namespace nearfield
