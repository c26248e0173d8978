#include "index/coded/coded_parameters.hpp"

#include <algorithm>
#include <limits>

#include "code/quantizer_state.hpp"
#include "core/fail.hpp"
#include "index/family.hpp"

namespace nearfield {
namespace {

constexpr int kUsualCodebooks = 16;
constexpr std::int64_t kMostReranked = 1 << 20;
constexpr std::int64_t kMostTrained = 1 << 24;

void check_codable(const IndexSpec& spec) {
  const Metric metric = spec.metric.metric;
  if (metric == Metric::cosine) {
    fail(ErrorCode::invalid_argument,
         "coded has no cosine: scale the vectors to one length, and use inner_product or "
         "sqeuclidean");
  }
  if (spec.dtype == DType::bits || (metric != Metric::sqeuclidean && metric != Metric::euclidean &&
                                    metric != Metric::inner_product)) {
    fail(ErrorCode::invalid_argument,
         "coded is for floats and bytes under sqeuclidean, euclidean or inner_product, and these "
         "are {} under {}: use {}",
         to_string(spec.dtype), to_string(spec.metric), spec.dtype == DType::bits ? "mih" : "flat");
  }
}

CodedNorms norms_of(std::string_view value) {
  if (value == "exact") return CodedNorms::exact;
  if (value == "byte") return CodedNorms::byte;
  fail(ErrorCode::invalid_argument, "coded has no norms '{}': it has exact and byte", value);
}

int small_number(const FamilyParameter& given) {
  return static_cast<int>(given.number(0, std::numeric_limits<int>::max()));
}

void take_coded_parameter(const FamilyParameter& given, CodedParameters& parameters) {
  if (given.name == "kind") {
    parameters.quantizer.kind = parse_quantizer_kind(given.value);
  } else if (given.name == "codebooks") {
    parameters.quantizer.codebooks = small_number(given);
  } else if (given.name == "bits") {
    parameters.quantizer.bits = small_number(given);
  } else if (given.name == "iterations") {
    parameters.quantizer.iterations = small_number(given);
  } else if (given.name == "rounds") {
    parameters.quantizer.rounds = small_number(given);
  } else if (given.name == "beam") {
    parameters.quantizer.beam = small_number(given);
  } else if (given.name == "norms") {
    parameters.norms = norms_of(given.value);
  } else if (given.name == "rerank") {
    parameters.rerank = given.number(0, kMostReranked);
  } else if (given.name == "train") {
    parameters.train = given.number(1, kMostTrained);
  } else if (given.name == "seed") {
    parameters.seed = static_cast<std::uint64_t>(given.number(0, INT64_MAX));
  } else {
    fail(ErrorCode::invalid_argument,
         "coded has no parameter '{}': it has kind, codebooks, bits, iterations, rounds, beam, "
         "norms, rerank, train, seed",
         given.name);
  }
}

}  // namespace

CodedParameters parse_coded(const IndexSpec& spec) {
  check_codable(spec);
  CodedParameters parameters;
  QuantizerOptions& quantizer = parameters.quantizer;
  quantizer.kind = QuantizerKind::pq;
  quantizer.codebooks = static_cast<int>(std::min<std::int64_t>(kUsualCodebooks, spec.cols));
  for (const FamilyParameter& given : family_parameters(spec.family)) {
    take_coded_parameter(given, parameters);
  }
  check_options(quantizer, spec.cols);
  if (parameters.train < parameters.codewords()) {
    fail(ErrorCode::invalid_argument, "'train' is at least {}, a row for each codeword, not {}",
         parameters.codewords(), parameters.train);
  }
  const bool additive = quantizer.kind == QuantizerKind::rq || quantizer.kind == QuantizerKind::lsq;
  if (additive && spec.metric.metric != Metric::inner_product) {
    if (parameters.norms == CodedNorms::none) parameters.norms = CodedNorms::exact;
  } else if (parameters.norms != CodedNorms::none) {
    fail(ErrorCode::invalid_argument,
         "'norms' are kept of rq and lsq under sqeuclidean and euclidean, not of {} under {}",
         to_string(quantizer.kind), to_string(spec.metric));
  }
  return parameters;
}

}  // namespace nearfield
