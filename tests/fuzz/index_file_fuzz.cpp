// Any bytes as an index: what opens is searched, looked up in, changed and saved, or an Error says
// what is wrong. Half of the mutations know the layout, or few would pass the header's checks.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <nearfield/index.hpp>

#include "fuzz_files.hpp"
#include "index/mih/mih_tuning.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace nearfield::fuzz {
namespace {

constexpr std::size_t kLengthBytes = 8;

// Everything that reads a mapped tensor.
void use(Index& index, const std::string& copy) {
  const IndexSpec& spec = index.spec();
  const Matrix queries(spec.dtype, 2, spec.cols);
  const Context context{.threads = 1};
  std::vector<std::int64_t> ids = index.ids();
  allow_error([&] { index.search(queries, {.k = 3}, context); });
  allow_error([&] { index.within(queries, {.radius = 1}, context); });
  allow_error([&] {
    index.search(queries, {.k = 2, .filter = {IdFilter::Kind::only, ids}}, context);
  });
  ids.resize(std::min<std::size_t>(ids.size(), 8));
  for (const std::int64_t id : ids) {
    allow_error([&] { index.contains(id); });
    allow_error([&] { index.get(std::vector{id}); });
  }
  allow_error([&] { index.upsert(queries, std::vector<std::int64_t>{5, 7}); });
  allow_error([&] {
    const std::vector<std::string> keys = index.keys_of(ids);
    index.ids_of(std::vector<std::string_view>(keys.begin(), keys.end()));
    if (keys.size() >= 2) index.upsert(queries, std::vector<std::string_view>{keys[0], keys[1]});
    index.upsert(queries, std::vector<std::string_view>{"a", "b"});
  });
  allow_error([&] { index.compact(); });
  for (const IndexPart& part : index.parts()) {
    Matrix rows(spec.dtype, std::min<std::int64_t>(part.rows->rows(), 100), spec.cols);
    allow_error([&] {  // of codes alone there are none
      if (!part.rows->in_memory()) part.rows->read(0, rows.rows(), rows, 0);
    });
  }
  allow_error([&] {  // by rows that are taken out of tiles
    Matrix halves(DType::f32, 1, spec.cols);
    reinterpret_cast<float*>(halves.row(0))[0] = 0.5F;
    index.search(halves, {.k = 3}, context);
  });
  index.stats();
  allow_error([&] { index.remove(ids); });
  allow_error([&] { index.search(queries, {.k = 3}, context); });
  allow_error([&] {
    index.save(copy);
    verify_index(copy);
    Index::open(copy).search(queries, {.k = 3}, context);
  });
}

// The header's text, without the length before it.
std::string header_of(const std::uint8_t* data, std::size_t size) {
  if (size < kLengthBytes) return {};
  std::uint64_t length = 0;
  std::memcpy(&length, data, kLengthBytes);
  return {reinterpret_cast<const char*>(data) + kLengthBytes,
          static_cast<std::size_t>(std::min<std::uint64_t>(length, size - kLengthBytes))};
}

// Another number in place of one in the text.
void change_a_number(std::string& text, std::size_t bytes, std::minstd_rand& random) {
  constexpr std::string_view kDigits = "0123456789";
  std::size_t begin =
      text.empty() ? std::string::npos : text.find_first_of(kDigits, random() % text.size());
  if (begin == std::string::npos) return;
  while (begin > 0 && kDigits.find(text[begin - 1]) != std::string_view::npos) --begin;
  const std::size_t end = std::min(text.find_first_not_of(kDigits, begin), text.size());
  const std::array<std::uint64_t, 10> numbers{0,
                                              1,
                                              63,
                                              64,
                                              bytes,
                                              bytes - 1,
                                              std::uint64_t{1} << 31,
                                              std::uint64_t{1} << 32,
                                              std::numeric_limits<std::int64_t>::max(),
                                              random() % (2 * bytes + 1)};
  text.replace(begin, end - begin, std::to_string(numbers[random() % numbers.size()]));
}

}  // namespace
}  // namespace nearfield::fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  using namespace nearfield::fuzz;
  std::minstd_rand random(seed);
  std::string header = header_of(data, size);
  if (header.empty() || random() % 2 == 0) return LLVMFuzzerMutate(data, size, most);
  const std::size_t begin = kLengthBytes + header.size();
  std::string payload(reinterpret_cast<const char*>(data) + begin, size - begin);
  switch (random() % 3) {
    case 0:
      change_a_number(header, payload.size(), random);
      break;
    case 1: {
      const std::size_t old = header.size();
      header.resize(old + 64, ' ');
      header.resize(
          LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(header.data()), old, header.size()));
      break;
    }
    default:
      if (!payload.empty()) {
        payload.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(payload.data()),
                                        payload.size(), payload.size()));
      }
  }
  const std::uint64_t length = header.size();
  std::string file(reinterpret_cast<const char*>(&length), kLengthBytes);
  file += header + payload;
  file.resize(std::min(file.size(), most));
  std::memcpy(data, file.data(), file.size());
  return file.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace nearfield;
  static const fuzz::Folder folder;
  mih_tuning().lookup = 0;  // or the few rows of a seed would be scanned
  mih_tuning().candidate = 0;
  mih_tuning().query = 0;
  const std::string path = folder.put("index", data, size);
  fuzz::allow_error([&] { verify_index(path); });
  fuzz::allow_error([&] {
    Index index = Index::open(path);
    fuzz::use(index, path + ".copy");
  });
  return 0;
}
