#include "hw/verbs/completion_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "hw/verbs/verbs_error.h"

namespace hoccl::hw {
namespace {

using testing::HasSubstr;

std::array<std::byte, 16> ipv4_gid(int last) {
  std::array<std::byte, 16> gid{};
  gid[10] = gid[11] = std::byte{0xff};
  gid[12] = std::byte{10};
  gid[15] = static_cast<std::byte>(last);
  return gid;
}

TEST(CompletionWords, NameStatusVendorCodeBothEndsAndALikelyCause) {
  NicAddress local;
  NicAddress remote;
  local.gid = ipv4_gid(1);
  remote.gid = ipv4_gid(2);
  const std::string words = describe_failure(IBV_WC_RETRY_EXC_ERR, 129, "mlx5_0", local, remote);
  for (const char* part : {"(12, vendor 129)", "mlx5_0", "10.0.0.1", "10.0.0.2", "GID index"}) {
    EXPECT_THAT(words, HasSubstr(part));
  }
}

TEST(CompletionWords, WriteAGidAsAnAddress) {
  EXPECT_EQ(to_string(ipv4_gid(7)), "10.0.0.7");
  std::array<std::byte, 16> gid{};
  gid[0] = std::byte{0xfe};
  gid[1] = std::byte{0x80};
  gid[15] = std::byte{1};
  EXPECT_EQ(to_string(gid), "fe80::1");
}

TEST(CompletionWords, TellPathsFromQueuePairs) {
  EXPECT_TRUE(is_path_failure(IBV_WC_RETRY_EXC_ERR));
  EXPECT_TRUE(is_path_failure(IBV_WC_RNR_RETRY_EXC_ERR));
  EXPECT_FALSE(is_path_failure(IBV_WC_WR_FLUSH_ERR));
  EXPECT_FALSE(is_path_failure(IBV_WC_REM_ACCESS_ERR));
}

TEST(VerbsError, SaysWhatToDoWhereTheCauseIsUsual) {
  EXPECT_THAT(VerbsError("connect", ENETUNREACH).what(), HasSubstr("--gid-index"));
  EXPECT_THAT(VerbsError("open", EACCES).what(), HasSubstr("/dev/infiniband"));
}

}  // namespace
}  // namespace hoccl::hw
