// An Error with its code, and with everything in its message that a user needs.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <nearfield/error.hpp>

namespace nearfield::test {

template <class Call>
void expect_error(Call call, ErrorCode code, std::initializer_list<std::string_view> parts) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    for (const std::string_view part : parts) {
      EXPECT_NE(std::string_view(error.what()).find(part), std::string_view::npos)
          << "'" << part << "' is not in: " << error.what();
    }
    return;
  }
  ADD_FAILURE() << "no Error was thrown";
}

}  // namespace nearfield::test
