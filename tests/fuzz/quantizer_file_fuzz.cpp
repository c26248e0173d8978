// Any bytes as a quantizer, and as a checkpoint: what is read encodes and decodes, or an Error says
// what is wrong.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "code/quantizer_state.hpp"
#include "fuzz_files.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace nearfield;
  static const fuzz::Folder folder;
  const std::string path = folder.put("quantizer.safetensors", data, size);
  fuzz::allow_error([&] {
    const Quantizer quantizer = Quantizer::open(path);
    if (quantizer.cols() > 64 || quantizer.options().rounds > 16) return;
    const std::vector<float> row(static_cast<std::size_t>(quantizer.cols()), 1.0F);
    Context context;
    context.threads = 1;
    const Matrix codes = quantizer.encode({row.data(), 1, quantizer.cols()}, context);
    if (quantizer.decode(codes, context).rows() != 1) std::abort();
  });
  fuzz::allow_error([&] { read_checkpoint(path, {}, 0, 0, 16, 3); });
  return 0;
}
