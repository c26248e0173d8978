// Quantizers of a set of descriptors, and indexes of its codes. Both are files of one folder: who
// was killed, and has the folder, goes on.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

#include <nearfield/index.hpp>
#include <nearfield/matrix.hpp>
#include <nearfield/quantize.hpp>

namespace nearfield::bench {

// Of so many bits a vector: those of lsq are one codebook fewer, and a byte of their norm.
struct Coder {
  std::string series;
  QuantizerKind kind;
  int bits;
  int rounds = 0;  // of lsq, for a vector
  Relaxation relaxation = QuantizerOptions{}.relaxation;

  int codebooks() const { return bits / 8 - (kind == QuantizerKind::lsq ? 1 : 0); }
};

// The folder of a name, which stays; without a name one of its own, which goes.
class WorkFolder {
 public:
  explicit WorkFolder(const std::string& kept);
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  ~WorkFolder();

  bool stays() const { return stays_; }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

 private:
  bool stays_;
  std::filesystem::path folder_;
};

struct Descriptors {
  std::string name;
  Matrix learn;  // of other pictures than the base
  Matrix base;
  Matrix queries;  // of the pictures of the base, seen from elsewhere

  // Queries of other pictures, as those of the paper: the first of `learn`, on which nothing is
  // trained.
  MatrixView strangers() const { return learn.view().slice(0, count_of_strangers()); }
  MatrixView trained_on() const {
    return learn.view().slice(count_of_strangers(), learn.rows() - count_of_strangers());
  }

 private:
  std::int64_t count_of_strangers() const { return std::min(queries.rows(), learn.rows() / 10); }
};

class CodedSet {
 public:
  // All of them outlive it. figure: who notes are of.
  CodedSet(const Descriptors& descriptors, const WorkFolder& folder, int iterations,
           std::string figure)
      : descriptors_(descriptors),
        folder_(folder),
        iterations_(iterations),
        figure_(std::move(figure)) {}

  Quantizer quantizer(const Coder& coder) const;

  // Of the codes of the base, without vectors.
  Index index_of(const Coder& coder) const;

 private:
  Quantizer trained(const Coder& coder) const;
  std::string path(const std::string& name) const;

  const Descriptors& descriptors_;
  const WorkFolder& folder_;
  int iterations_;
  std::string figure_;
};

double seconds_since(std::chrono::steady_clock::time_point start);

}  // namespace nearfield::bench
