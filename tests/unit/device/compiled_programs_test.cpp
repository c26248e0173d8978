#include "device/gpu/opencl/compiled_programs.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "tests/unit/expect_error.hpp"
#include "tests/unit/io/temp_folder.hpp"

namespace nearfield::gpu {
namespace {

namespace fs = std::filesystem;

const CompiledProgram kProgram = {'c', 'o', 'd', 'e', 0, 1, 2};
constexpr auto kDay = std::chrono::hours(24);

class CompiledProgramsTest : public testing::Test {
 protected:
  CompiledProgramsTest() { name_folder(folder_.path("kernels")); }
  ~CompiledProgramsTest() override { ::unsetenv("NEARFIELD_KERNEL_CACHE"); }

  static void name_folder(const std::string& folder) {
    ::setenv("NEARFIELD_KERNEL_CACHE", folder.c_str(), 1);
  }

  std::vector<fs::path> files() const {
    std::vector<fs::path> all;
    for (const auto& entry : fs::directory_iterator(folder_.path("kernels"))) {
      all.push_back(entry.path());
    }
    return all;
  }

  test::TempFolder folder_;
};

TEST_F(CompiledProgramsTest, AreFoundByAnotherProcess) {
  CompiledPrograms().keep("topk_16", "source", kProgram);
  EXPECT_EQ(CompiledPrograms().find("topk_16", "source"), kProgram);
  EXPECT_EQ(files().size(), 1U);  // nothing unfinished is left
  const auto others = fs::perms::group_all | fs::perms::others_all;
  EXPECT_EQ(fs::status(folder_.path("kernels")).permissions() & others, fs::perms::none);
}

TEST_F(CompiledProgramsTest, OfAnotherSourceOrNameAreNot) {
  const CompiledPrograms programs;
  EXPECT_FALSE(programs.find("topk_16", "source"));
  programs.keep("topk_16", "source", kProgram);
  EXPECT_FALSE(programs.find("topk_16", "other source"));
  EXPECT_FALSE(programs.find("topk_32", "source"));
}

TEST_F(CompiledProgramsTest, DamagedAreNotFoundAndReplaced) {
  const CompiledPrograms programs;
  programs.keep("topk_16", "source", kProgram);
  const std::string name = "kernels/" + files().front().filename().string();
  const std::string whole = folder_.get(name);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    folder_.put(name, damaged);
    EXPECT_FALSE(programs.find("topk_16", "source")) << "byte " << at;
    folder_.put(name, whole.substr(0, at));
    EXPECT_FALSE(programs.find("topk_16", "source")) << at << " bytes";
  }
  folder_.put(name, whole + "more");
  EXPECT_FALSE(programs.find("topk_16", "source"));
  programs.keep("topk_16", "source", kProgram);
  EXPECT_EQ(programs.find("topk_16", "source"), kProgram);
}

TEST_F(CompiledProgramsTest, OfAnotherUserAreNotFound) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const CompiledPrograms programs;
  programs.keep("topk_16", "source", kProgram);
  ASSERT_EQ(::chown(files().front().c_str(), 12345, static_cast<gid_t>(-1)), 0);
  EXPECT_FALSE(programs.find("topk_16", "source"));
}

TEST_F(CompiledProgramsTest, ThatOthersMayWriteAreNotFound) {
  const CompiledPrograms programs;
  programs.keep("topk_16", "source", kProgram);
  const fs::path file = files().front();
  fs::permissions(file, fs::perms::group_write, fs::perm_options::add);
  EXPECT_FALSE(programs.find("topk_16", "source"));
  fs::permissions(file, fs::perms::group_write, fs::perm_options::remove);
  EXPECT_TRUE(programs.find("topk_16", "source"));
  fs::rename(file, folder_.path("elsewhere"));
  fs::create_symlink(folder_.path("elsewhere"), file);
  EXPECT_FALSE(programs.find("topk_16", "source"));
}

TEST_F(CompiledProgramsTest, UnusedForAMonthAreRemoved) {
  const CompiledPrograms programs;
  programs.keep("topk_16", "of an old driver", kProgram);
  programs.keep("merge_16", "of an old driver", kProgram);
  for (const fs::path& file : files()) {
    fs::last_write_time(file, fs::file_time_type::clock::now() - 31 * kDay);
  }
  programs.keep("topk_16", "source", kProgram);
  EXPECT_FALSE(programs.find("topk_16", "of an old driver"));
  EXPECT_TRUE(programs.find("merge_16", "of an old driver"));  // and is in use again:
  programs.keep("merge_16", "source", kProgram);
  EXPECT_TRUE(programs.find("merge_16", "of an old driver"));
}

TEST_F(CompiledProgramsTest, AreKeptNowhereOrWhereItIsSaid) {
  name_folder("");
  CompiledPrograms().keep("topk_16", "source", kProgram);
  EXPECT_FALSE(CompiledPrograms().find("topk_16", "source"));

  name_folder(folder_.put("file", ""));
  EXPECT_FALSE(CompiledPrograms().find("topk_16", "source"));
  test::expect_error([] { CompiledPrograms().keep("topk_16", "source", kProgram); }, ErrorCode::io,
                     {"7 bytes", "topk_16", "NEARFIELD_KERNEL_CACHE", "file"});
}

TEST_F(CompiledProgramsTest, AreKeptInTheCacheOfTheUser) {
  ::unsetenv("NEARFIELD_KERNEL_CACHE");
  const char* const before = std::getenv("XDG_CACHE_HOME");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("XDG_CACHE_HOME", folder_.path("cache").c_str(), 1);
  CompiledPrograms().keep("topk_16", "source", kProgram);
  EXPECT_TRUE(fs::is_directory(folder_.path("cache/nearfield/kernels")));
  EXPECT_EQ(CompiledPrograms().find("topk_16", "source"), kProgram);
  // Not asked for: where it cannot be written, nothing is kept, and nothing is said.
  ::setenv("XDG_CACHE_HOME", folder_.put("file", "").c_str(), 1);
  EXPECT_NO_THROW(CompiledPrograms().keep("topk_16", "source", kProgram));
  if (before == nullptr) {
    ::unsetenv("XDG_CACHE_HOME");
  } else {
    ::setenv("XDG_CACHE_HOME", kept.c_str(), 1);
  }
}

}  // namespace
}  // namespace nearfield::gpu
