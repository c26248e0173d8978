#include "index/coded/coded_parameters.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

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

bool keeps_them(std::string_view value) {
  if (value == "kept") return true;
  if (value == "none") return false;
  fail(ErrorCode::invalid_argument, "coded has no vectors '{}': they are kept, or none are", value);
}

int small_number(const FamilyParameter& given) {
  return static_cast<int>(given.number(0, std::numeric_limits<int>::max()));
}

// Of its quantizer; false if it is none of these.
bool take_quantizer_parameter(const FamilyParameter& given, QuantizerOptions& quantizer) {
  if (given.name == "kind") {
    quantizer.kind = parse_quantizer_kind(given.value);
  } else if (given.name == "codebooks") {
    quantizer.codebooks = small_number(given);
  } else if (given.name == "bits") {
    quantizer.bits = small_number(given);
  } else if (given.name == "iterations") {
    quantizer.iterations = small_number(given);
  } else if (given.name == "rounds") {
    quantizer.rounds = small_number(given);
  } else if (given.name == "beam") {
    quantizer.beam = small_number(given);
  } else {
    return false;
  }
  return true;
}

void take_coded_parameter(const FamilyParameter& given, CodedParameters& parameters) {
  if (take_quantizer_parameter(given, parameters.quantizer)) return;
  if (given.name == "norms") {
    parameters.norms = norms_of(given.value);
  } else if (given.name == "vectors") {
    parameters.vectors = keeps_them(given.value);
  } else if (given.name == "rerank") {
    parameters.rerank = given.number(0, kMostReranked);
  } else if (given.name == "train") {
    parameters.train = given.number(1, kMostTrained);
  } else if (given.name == "seed") {
    parameters.seed = static_cast<std::uint64_t>(given.number(0, INT64_MAX));
  } else {
    fail(ErrorCode::invalid_argument,
         "coded has no parameter '{}': it has kind, codebooks, bits, iterations, rounds, beam, "
         "norms, rerank, vectors, train, seed",
         given.name);
  }
}

// What one kind alone reads would be ignored by the others.
void check_kind_parameters(std::span<const FamilyParameter> given, QuantizerKind kind) {
  for (const FamilyParameter& one : given) {
    if (one.name != "rounds" && one.name != "beam") continue;
    const QuantizerKind owner = one.name == "rounds" ? QuantizerKind::lsq : QuantizerKind::rq;
    if (kind == owner) continue;
    fail(ErrorCode::invalid_argument, "'{}' belongs to {}, and kind is {}", one.name,
         to_string(owner), to_string(kind));
  }
}

void take_no_vectors(std::span<const FamilyParameter> given, CodedParameters& parameters) {
  const bool reranks = std::ranges::count(given, "rerank", &FamilyParameter::name) > 0;
  if (reranks && parameters.rerank > 0) {
    fail(ErrorCode::invalid_argument,
         "'rerank={}' puts the nearest in order by their vectors, and 'vectors=none' keeps none: "
         "leave one of them",
         parameters.rerank);
  }
  parameters.rerank = 0;
}

}  // namespace

CodedParameters parse_coded(const IndexSpec& spec) {
  check_codable(spec);
  CodedParameters parameters;
  QuantizerOptions& quantizer = parameters.quantizer;
  quantizer.kind = QuantizerKind::pq;
  quantizer.codebooks = static_cast<int>(std::min<std::int64_t>(kUsualCodebooks, spec.cols));
  const std::vector<FamilyParameter> given = family_parameters(spec.family);
  for (const FamilyParameter& one : given) take_coded_parameter(one, parameters);
  check_kind_parameters(given, quantizer.kind);
  if (!parameters.vectors) take_no_vectors(given, parameters);
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
