// The names that options take as values, for help and completion.
#pragma once

#include <array>
#include <string>
#include <vector>

#include <nearfield/matrix.hpp>

namespace nearfield::cli {

std::vector<std::string> metric_names();  // "lp:P" where a number is part of the name
std::vector<std::string> isa_names();     // of this machine
std::vector<std::string> device_kinds();  // to which a number may be added
std::vector<std::string> effort_names();  // of tuning
std::vector<std::string> cross_check_names();
std::vector<std::string> pivot_choice_names();
std::vector<std::string> text_metric_names();
std::vector<std::string> code_metric_names();  // of an index of codes
std::vector<std::string> quantizer_kind_names();
std::vector<std::string> relaxation_names();

// Types of vectors that files hold.
inline constexpr std::array kFileTypes{DType::f32, DType::f16, DType::f64, DType::u8, DType::i8};
std::vector<std::string> file_type_names();

}  // namespace nearfield::cli
