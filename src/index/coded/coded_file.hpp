// The codes of an index as tensors of its file.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <nearfield/index.hpp>

#include "core/monitor.hpp"
#include "index/coded/coded_rows.hpp"
#include "index/family_data.hpp"
#include "index/part.hpp"

namespace nearfield {

// Names of tensors.
namespace coded_format {
inline constexpr const char* kCodes = "coded.codes";  // [block][column][row of 64]
inline constexpr const char* kBooks = "coded.codebooks";
inline constexpr const char* kTurned = "coded.rotation";     // of opq
inline constexpr const char* kNorms = "coded.norms";         // of norms=exact
inline constexpr const char* kLevels = "coded.norm_levels";  // of norms
}  // namespace coded_format

// Of all rows of a file; null if it has no codes. Codebooks are copied and checked; codes and norms
// are looked at where they lie, and may be any.
std::shared_ptr<const CodedRows> open_coded(const TensorFile& file, const IndexSpec& spec,
                                            const CodedParameters& parameters, std::int64_t rows);

// Throws corrupt_file where they are not what the rows make them. Encodes with the context's
// threads; its memory limit is kept by who asks.
void verify_coded(const CodedRows& codes, MatrixView rows, const std::string& path,
                  const Context& context);

// Codes that are there are copied, others made. Parts must outlive it.
std::unique_ptr<FamilyTensors> coded_tensors(std::span<const PartView> parts,
                                             const SharedCodedTrained& trained,
                                             const CodedParameters& parameters,
                                             const Context& context, const Monitor& monitor);

// What they look at must outlive the tensors.
void add_codebook_tensors(const Quantizer& quantizer, std::vector<TensorToWrite>& tensors);
TensorToWrite levels_tensor(std::span<const float> norm_levels);

}  // namespace nearfield
