#include "index/opened_family.hpp"

#include "core/fail.hpp"

namespace nearfield {

void check_spec(const IndexSpec& spec) {
  check_metric(spec.metric);
  if (spec.cols < 1 || spec.cols > kMaxCols) {
    fail(ErrorCode::invalid_argument, "an index has 1 to {} columns, got {}", kMaxCols, spec.cols);
  }
  const bool bits = spec.dtype == DType::bits;
  if ((info(spec.metric).input == MetricInput::bits) != bits) {
    fail(ErrorCode::invalid_argument, "{} does not compare vectors of {}", to_string(spec.metric),
         to_string(spec.dtype));
  }
}

std::shared_ptr<const Family> check_opened(const IndexSpec& spec, const std::string& path) {
  try {
    check_spec(spec);
  } catch (const Error& error) {
    fail(ErrorCode::corrupt_file, "{}: {}", path, error.what());
  }
  try {
    return make_family(spec);
  } catch (const Error& error) {
    fail(ErrorCode::unsupported, "{}: {}: open it with a newer Nearfield", path, error.what());
  }
}

SharedFamilyData open_family(const Family& family, const Part& part, const std::string& path) {
  SharedFamilyData data = family.open(part.file(), part.capacity());
  if (!part.has_vectors() && (data == nullptr || family.keeps_vectors(part.capacity()))) {
    fail(ErrorCode::corrupt_file, "{}: says that it has no vectors, which its family needs", path);
  }
  return data;
}

}  // namespace nearfield
