#include "hw/bootstrap/job_secret.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "engine/base/config_error.h"
#include "hw/bootstrap/secret_file.h"
#include "hw/bootstrap/wire_bytes.h"

namespace hoccl::hw {
namespace {

using engine::ConfigError;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

constexpr const char* kDigits = "00112233445566778899aabbccddeeff";

TEST(JobSecret, ReadsWhatItPrints) {
  EXPECT_EQ(JobSecret::parse(kDigits).digits(), kDigits);
  EXPECT_EQ(JobSecret::parse("00112233445566778899AABBCCDDEEFF"), JobSecret::parse(kDigits));
}

TEST(JobSecret, RefusesAnythingButThirtyTwoDigitsWithoutRepeatingIt) {
  const std::string digits = kDigits;
  for (const std::string& bad :
       {std::string(), digits.substr(1), digits + "0", digits.substr(2) + "zz", digits + "\n",
        " " + digits.substr(1), digits.substr(0, 30) + " 0"}) {
    EXPECT_THAT([&] { JobSecret::parse(bad); },
                ThrowsMessage<ConfigError>(AllOf(HasSubstr("32 hexadecimal digits"),
                                                 Not(HasSubstr(digits.substr(4, 20))))))
        << bad;
  }
}

TEST(JobSecret, NoTwoAreEqual) {
  std::set<std::string> all;
  for (int i = 0; i < 100; ++i) all.insert(JobSecret::generate().digits());
  EXPECT_EQ(all.size(), 100U);
}

TEST(JobSecret, EveryPurposeJobAndSecretHasItsOwnKey) {
  const JobSecret secret = JobSecret::parse(kDigits);
  EXPECT_EQ(secret.key("a"), JobSecret::parse(kDigits).key("a"));
  EXPECT_NE(secret.key("a"), secret.key("b"));
  EXPECT_NE(secret.key("a"), JobSecret::generate().key("a"));
  EXPECT_EQ(secret.for_job("1.0"), JobSecret::parse(kDigits).for_job("1.0"));
  EXPECT_FALSE(secret.for_job("1.0") == secret.for_job("1.1"));
  EXPECT_FALSE(secret.for_job("1.0") == secret);
}

TEST(Authentication, TheMacIsHmacSha512CutToThirtyTwoBytes) {
  const MacKey key{std::byte{1}};
  // Python: hmac.new(bytes([1] + [0] * 31), b"abc", "sha512").hexdigest()[:64]
  std::string digits;
  for (const std::byte byte : compute_mac(key, {bytes_of("abc")})) {
    digits += fmt::format("{:02x}", std::to_integer<int>(byte));
  }
  EXPECT_EQ(digits, "68b0ee4c602560159f69812f77a38921084556fc745b58cae6db16a35221d0bc");
}

TEST(Authentication, AnyChangeOfTheKeyTheTextOrTheMacIsSeen) {
  const MacKey key{std::byte{1}};
  const MacKey other{std::byte{2}};
  const Mac mac = compute_mac(key, {bytes_of("ab"), bytes_of("c")});
  EXPECT_EQ(mac, compute_mac(key, {bytes_of("abc")}));
  EXPECT_NE(mac, compute_mac(other, {bytes_of("abc")}));
  EXPECT_NE(mac, compute_mac(key, {bytes_of("abd")}));
  EXPECT_TRUE(equal_macs(mac, compute_mac(key, {bytes_of("abc")})));
  for (std::size_t i = 0; i < mac.size(); ++i) {
    Mac changed = mac;
    changed[i] ^= std::byte{1};
    EXPECT_FALSE(equal_macs(mac, changed)) << "byte " << i;
  }
}

class SecretFile : public testing::Test {
 protected:
  std::string write(const std::string& text, mode_t mode) {
    const std::string path = testing::TempDir() + "/hoccl_secret_" +
                             testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove(path);
    std::ofstream(path) << text;
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    path_ = path;
    return path;
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::string path_;
};

TEST_F(SecretFile, IsReadWhenOnlyItsOwnerMay) {
  for (const mode_t mode : {0600U, 0400U}) {
    EXPECT_EQ(read_secret_file(write(std::string(kDigits) + "\n", mode)),
              JobSecret::parse(kDigits));
  }
}

TEST_F(SecretFile, IsRefusedWhenOthersMayUseIt) {
  for (const mode_t mode : {0640U, 0604U, 0620U, 0602U}) {
    EXPECT_THAT([&] { read_secret_file(write(kDigits, mode)); },
                ThrowsMessage<ConfigError>(HasSubstr("expected 0600 or 0400")));
  }
}

TEST_F(SecretFile, ErrorsNameTheFile) {
  EXPECT_THAT([&] { read_secret_file("/nowhere/secret"); },
              ThrowsMessage<ConfigError>(
                  "HOCCL_JOB_SECRET_FILE=/nowhere/secret: cannot be opened: No such file or "
                  "directory"));
  EXPECT_THAT([&] { read_secret_file("/dev/null"); },
              ThrowsMessage<ConfigError>(HasSubstr("/dev/null: expected a regular file")));
  EXPECT_THAT([&] { read_secret_file(write("12345", 0600)); },
              ThrowsMessage<ConfigError>(
                  AllOf(HasSubstr("32 hexadecimal digits"), Not(HasSubstr("12345")))));
}

}  // namespace
}  // namespace hoccl::hw
