#include "engine/trace/atomic_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "engine/base/config_error.h"

namespace hoccl::engine {
namespace {

namespace fs = std::filesystem;

class AtomicFiles : public testing::Test {
 protected:
  AtomicFiles() {
    std::string name = (fs::temp_directory_path() / "hoccl-atomic-file-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~AtomicFiles() override { fs::remove_all(folder_); }

  static void write(const fs::path& path, const std::string& text) {
    AtomicFile file(path);
    file.stream() << text;
    file.commit();
  }
  static std::string content(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  }
  [[nodiscard]] std::ptrdiff_t file_count() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }

  fs::path folder_;
};

TEST_F(AtomicFiles, LeavesNothingBesideItWhileItIsWritten) {
  AtomicFile file(folder_ / "out");
  file.stream() << std::string(1 << 20, 'x') << std::flush;
  EXPECT_EQ(file_count(), 0);
  file.commit();
  EXPECT_EQ(file_count(), 1);
  EXPECT_EQ(fs::file_size(folder_ / "out"), 1U << 20);
}

TEST_F(AtomicFiles, TakesNobodysTemporaryName) {
  std::ofstream(folder_ / "out.partial-0") << "another process's";
  write(folder_ / "out", "ours");
  EXPECT_EQ(content(folder_ / "out"), "ours");
  EXPECT_EQ(content(folder_ / "out.partial-0"), "another process's");
}

TEST_F(AtomicFiles, ReplacesWhatALinkLeadsTo) {
  std::ofstream(folder_ / "kept") << "old";
  fs::create_symlink("kept", folder_ / "link");
  write(folder_ / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(content(folder_ / "kept"), "new");
}

TEST_F(AtomicFiles, WritesToADeviceInPlace) {
  fs::create_symlink("/dev/null", folder_ / "null");
  write(folder_ / "null", "gone");
  EXPECT_TRUE(fs::is_symlink(folder_ / "null"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_THROW(write("/dev/full", "more than it takes"), ConfigError);
}

TEST_F(AtomicFiles, WritesToAPipeInPlace) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  write(pipe, "through");
  std::string text(16, ' ');
  const ssize_t count = ::read(reader, text.data(), text.size());
  ::close(reader);
  EXPECT_EQ(text.substr(0, static_cast<std::size_t>(count)), "through");
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST_F(AtomicFiles, WritesToAnOpenFileWithoutANameInPlace) {
  std::FILE* unnamed = std::tmpfile();
  const fs::path path = "/dev/fd/" + std::to_string(::fileno(unnamed));
  write(path, "still there");
  EXPECT_EQ(content(path), "still there");
  std::fclose(unnamed);
}

TEST_F(AtomicFiles, RefusesAFolderAndALinkThatLeadsNowhere) {
  EXPECT_THROW(AtomicFile{folder_}, ConfigError);
  fs::create_symlink("absent", folder_ / "dangling");
  EXPECT_THROW(AtomicFile(folder_ / "dangling"), ConfigError);
  EXPECT_THROW(AtomicFile(folder_ / "dangling" / "out"), ConfigError);
  EXPECT_TRUE(fs::is_symlink(folder_ / "dangling"));
}

}  // namespace
}  // namespace hoccl::engine
