// The family of an index, and what it has of the part of a file.
#pragma once

#include <memory>
#include <string>

#include <nearfield/index.hpp>

#include "index/family.hpp"
#include "index/part.hpp"

namespace nearfield {

void check_spec(const IndexSpec& spec);

// As check_spec, of what a file says of itself.
std::shared_ptr<const Family> check_opened(const IndexSpec& spec, const std::string& path);

// What the family has of the part of a file.
SharedFamilyData open_family(const Family& family, const Part& part, const std::string& path);

}  // namespace nearfield
