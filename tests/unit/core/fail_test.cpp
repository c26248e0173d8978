#include "core/fail.hpp"

#include <gtest/gtest.h>

namespace nearfield {
namespace {

TEST(Fail, WritesControlCharactersAsNumbers) {
  try {
    fail(ErrorCode::corrupt_file, "Größe.nf: has '{}' twice", "a\x1b[2J\n\x7f");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), R"(Größe.nf: has 'a\x1b[2J\x0a\x7f' twice)");
  }
}

}  // namespace
}  // namespace nearfield
