// Our products of halves and bytes against CLBlast's of floats and halves, on one OpenCL device, of
// the same shapes: vectors are there and converted, products stay there. In turn, the least of
// several runs. By hand; built where CLBlast is installed (libclblast-dev), which the library does
// not need:
//   NEARFIELD_PLUGINS=build/release build/release/tests/time_products
#define CL_HPP_TARGET_OPENCL_VERSION 300
#define CL_HPP_MINIMUM_OPENCL_VERSION 300
#define CL_HPP_ENABLE_EXCEPTIONS
#define CL_TARGET_OPENCL_VERSION 300
#include <clblast.h>
#include <clblast_half.h>
#include <CL/opencl.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "device/gpu/open.hpp"
#include "distance/gpu/product_step.hpp"

namespace nearfield {
namespace {

constexpr int kRounds = 7;

struct Shape {
  std::int64_t queries;
  std::int64_t rows;
  std::int64_t cols;
};

std::size_t size(std::int64_t x) { return static_cast<std::size_t>(x); }

// The least of its runs.
struct Timed {
  std::string name;
  std::function<void()> run;
  double seconds = std::numeric_limits<double>::infinity();
};

void time_once(Timed& timed) {
  const auto start = std::chrono::steady_clock::now();
  timed.run();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  timed.seconds = std::min(timed.seconds, taken.count());
}

// Small integers: all of them multiply those exactly, but for sums of 16 bits.
template <class Value>
std::vector<Value> values(std::int64_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<Value> made(size(count));
  for (Value& x : made) x = static_cast<Value>(random.below(4));
  return made;
}

// Vectors on the device, converted.
class Ours {
 public:
  Ours(const Shape& shape, ProductKind kind, MatrixView queries, MatrixView rows)
      : device_(gpu::open_device("opencl").device),
        queue_(device_.make_queue(0)),
        step_(queries.dtype(), rows.dtype(), rows.cols(), kind, ProductOutput::product,
              product_scale(3, 3, shape.cols, kind)),
        queries_(step_.convert_queries(device_, *queue_, queries)),
        rows_(step_.convert_rows(device_, *queue_, rows)),
        found_(device_.allocate(ProductStep::found_bytes(shape.queries, shape.rows))) {
    queue_->wait();
  }

  void run() {
    step_.multiply(*queue_, queries_, rows_, *found_);
    queue_->wait();
  }

  template <class Found>
  double first() {
    Found found{};
    queue_->read(*found_, &found, {1, sizeof(found), sizeof(found), sizeof(found)});
    queue_->wait();
    return static_cast<double>(found);
  }

 private:
  gpu::Device& device_;
  std::unique_ptr<gpu::Queue> queue_;
  ProductStep step_;
  ConvertedVectors queries_;
  ConvertedVectors rows_;
  std::unique_ptr<gpu::Buffer> found_;
};

// Value: float or half, which is bits here.
template <class Value>
class ClBlast {
 public:
  ClBlast(const Shape& shape, const std::vector<float>& queries, const std::vector<float>& rows)
      : shape_(shape),
        queries_(copy(queries)),
        rows_(copy(rows)),
        found_(context_, CL_MEM_READ_WRITE, size(shape.queries * shape.rows) * sizeof(Value)) {}

  void run() {
    cl_command_queue queue = queue_();
    const auto status =
        clblast::Gemm<Value>(clblast::Layout::kRowMajor, clblast::Transpose::kNo,
                             clblast::Transpose::kYes, size(shape_.queries), size(shape_.rows),
                             size(shape_.cols), made(1), queries_(), 0, size(shape_.cols), rows_(),
                             0, size(shape_.cols), made(0), found_(), 0, size(shape_.rows), &queue);
    if (status != clblast::StatusCode::kSuccess) {
      throw std::runtime_error("CLBlast says " + std::to_string(static_cast<int>(status)));
    }
    queue_.finish();
  }

  double first() {
    Value found{};
    queue_.enqueueReadBuffer(found_, CL_TRUE, 0, sizeof(found), &found);
    if constexpr (sizeof(Value) == 2) return HalfToFloat(found);
    return static_cast<double>(found);
  }

 private:
  static Value made(float x) {
    if constexpr (sizeof(Value) == 2) return FloatToHalf(x);
    return static_cast<Value>(x);
  }

  cl::Buffer copy(const std::vector<float>& from) {
    std::vector<Value> to(from.size());
    std::transform(from.begin(), from.end(), to.begin(), made);
    return {queue_, to.begin(), to.end(), true};
  }

  Shape shape_;
  cl::Device device_ = cl::Device::getDefault();
  cl::Context context_{device_};
  cl::CommandQueue queue_{context_, device_};
  cl::Buffer queries_;
  cl::Buffer rows_;
  cl::Buffer found_;
};

template <class Rival>
void add_rival(const char* name, Rival& rival, double expected, std::vector<Timed>& all) {
  try {
    rival.run();
  } catch (const std::exception& error) {
    std::printf("  %-24s does not run: %s\n", name, error.what());
    return;
  }
  if (std::fabs(rival.first() - expected) > 1e-3 * expected) {
    std::printf("  %-24s is wrong: %g for %g\n", name, rival.first(), expected);
  }
  all.push_back({name, [&rival] { rival.run(); }});
}

void compare(const Shape& shape) {
  std::printf("%ld x %ld x %ld\n", static_cast<long>(shape.queries), static_cast<long>(shape.rows),
              static_cast<long>(shape.cols));
  const auto queries = values<float>(shape.queries * shape.cols, 1);
  const auto rows = values<float>(shape.rows * shape.cols, 2);
  const auto query_bytes = values<std::uint8_t>(shape.queries * shape.cols, 1);
  const auto row_bytes = values<std::uint8_t>(shape.rows * shape.cols, 2);
  const MatrixView query_view(queries.data(), shape.queries, shape.cols);
  const MatrixView row_view(rows.data(), shape.rows, shape.cols);

  Ours halves(shape, ProductKind::f16, query_view, row_view);
  Ours short_sums(shape, ProductKind::f16_acc16, query_view, row_view);
  Ours bytes(shape, ProductKind::i8, MatrixView(query_bytes.data(), shape.queries, shape.cols),
             MatrixView(row_bytes.data(), shape.rows, shape.cols));
  ClBlast<float> sgemm(shape, queries, rows);
  ClBlast<cl_half> hgemm(shape, queries, rows);

  std::vector<Timed> all = {{"ours, f16", [&] { halves.run(); }},
                            {"ours, f16 in 16 bits", [&] { short_sums.run(); }},
                            {"ours, i8", [&] { bytes.run(); }}};
  for (Timed& timed : all) timed.run();  // which compiles it
  const double expected = bytes.first<std::int32_t>();
  if (halves.first<float>() != expected) std::printf("  halves and bytes differ\n");
  add_rival("CLBlast SGEMM", sgemm, expected, all);
  add_rival("CLBlast HGEMM", hgemm, expected, all);
  for (int round = 0; round < kRounds; ++round) {
    for (Timed& timed : all) time_once(timed);
  }
  const double products = static_cast<double>(shape.queries * shape.rows * shape.cols);
  for (const Timed& timed : all) {
    std::printf("  %-24s %8.2f ms  %6.1f G/s  %5.2f of ours\n", timed.name.c_str(),
                1e3 * timed.seconds, 1e-9 * products / timed.seconds,
                timed.seconds / all.front().seconds);
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace nearfield

int main() {
  for (const nearfield::Shape& shape :
       {nearfield::Shape{512, 1024, 128}, {1024, 4096, 128}, {512, 1024, 960}}) {
    nearfield::compare(shape);
  }
}
