#include "hw/bootstrap/hello.h"

#include <gtest/gtest.h>

#include <string>

#include "engine/base/random.h"
#include "hw/bootstrap/job_secret.h"

namespace hoccl::hw {
namespace {

using engine::Rank;

Nonce nonce_of(std::uint8_t seed) {
  Nonce nonce;
  nonce.fill(std::byte{seed});
  return nonce;
}

/// One conversation between rank 0 and rank 3 of a job of 4.
class Hello : public testing::Test {
 protected:
  const MacKey key_ = JobSecret::generate().key("test");
  const Introduction server_{.rank = Rank(0), .job_size = 4, .program_version = "1.2.3"};
  const Introduction client_{.rank = Rank(3), .job_size = 4, .program_version = "1.2.3"};
  const GreetingBytes greeting_ = make_greeting(server_, nonce_of(1));
  const HelloBytes hello_ = make_hello(key_, greeting_, client_, nonce_of(2));
};

TEST_F(Hello, TellsBothWhoTheOtherIs) {
  const GreetingReading greeting = read_greeting(greeting_);
  EXPECT_TRUE(greeting.understood);
  EXPECT_EQ(greeting.server.rank, Rank(0));
  EXPECT_EQ(greeting.server.job_size, 4);
  EXPECT_EQ(greeting.server.program_version, "1.2.3");
  const HelloReading hello = read_hello(key_, greeting_, hello_);
  EXPECT_EQ(hello.verdict, Verdict::kAccepted);
  EXPECT_EQ(hello.client.rank, Rank(3));
}

TEST_F(Hello, OfAnotherSecretIsRefused) {
  const MacKey other = JobSecret::generate().key("test");
  EXPECT_EQ(read_hello(other, greeting_, hello_).verdict, Verdict::kWrongSecret);
}

TEST_F(Hello, ReplayedToAnotherGreetingIsRefused) {
  const GreetingBytes later = make_greeting(server_, nonce_of(7));
  EXPECT_EQ(read_hello(key_, later, hello_).verdict, Verdict::kWrongSecret);
  Introduction other = server_;
  other.rank = Rank(1);
  EXPECT_EQ(read_hello(key_, make_greeting(other, nonce_of(1)), hello_).verdict,
            Verdict::kWrongSecret);
}

TEST_F(Hello, WithAnyBitChangedIsRefused) {
  for (std::size_t bit = 0; bit < 8 * hello_.size(); ++bit) {
    HelloBytes changed = hello_;
    changed[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    EXPECT_NE(read_hello(key_, greeting_, changed).verdict, Verdict::kAccepted) << "bit " << bit;
  }
}

TEST_F(Hello, OfAnotherProtocolVersionIsRefusedBeforeTheSecretIsLookedAt) {
  HelloBytes changed = hello_;
  changed[8] ^= std::byte{0xff};
  EXPECT_EQ(read_hello(key_, greeting_, changed).verdict, Verdict::kOtherProtocol);
  GreetingBytes greeting = greeting_;
  greeting[8] ^= std::byte{0xff};
  EXPECT_FALSE(read_greeting(greeting).understood);
}

TEST_F(Hello, OfAnotherProgramOrJobIsRefusedWithItsReason) {
  Introduction old = client_;
  old.program_version = "1.2";
  EXPECT_EQ(read_hello(key_, greeting_, make_hello(key_, greeting_, old, nonce_of(2))).verdict,
            Verdict::kOtherProgram);
  Introduction larger = client_;
  larger.job_size = 5;
  const auto reading =
      read_hello(key_, greeting_, make_hello(key_, greeting_, larger, nonce_of(2)));
  EXPECT_EQ(reading.verdict, Verdict::kOtherJobSize);
  EXPECT_EQ(reading.client.job_size, 5);
}

TEST_F(Hello, OfRandomBytesIsNone) {
  constexpr std::uint64_t kSeed = 20240611;
  engine::Random random(kSeed);
  for (int round = 0; round < 1000; ++round) {
    HelloBytes bytes;
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
    EXPECT_EQ(read_hello(key_, greeting_, bytes).verdict, Verdict::kNotAHello) << "seed " << kSeed;
  }
}

TEST_F(Hello, VerdictsAreBelievedOnlyFromWhoKnowsTheSecretAndOnlyForThisHello) {
  for (const Verdict verdict : {Verdict::kAccepted, Verdict::kDuplicateRank}) {
    const VerdictBytes bytes = make_verdict(key_, greeting_, hello_, verdict);
    const VerdictReading reading = read_verdict(key_, greeting_, hello_, bytes);
    EXPECT_TRUE(reading.authentic);
    EXPECT_EQ(reading.verdict, verdict);

    const MacKey other = JobSecret::generate().key("test");
    EXPECT_FALSE(read_verdict(other, greeting_, hello_, bytes).authentic);
    const HelloBytes other_hello = make_hello(key_, greeting_, client_, nonce_of(9));
    EXPECT_FALSE(read_verdict(key_, greeting_, other_hello, bytes).authentic);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      VerdictBytes changed = bytes;
      changed[i] ^= std::byte{0x10};
      EXPECT_FALSE(read_verdict(key_, greeting_, hello_, changed).authentic) << "byte " << i;
    }
  }
}

TEST_F(Hello, SessionKeysBelongToOneDirectionOfOneConnection) {
  const SessionKeys keys = make_session_keys(key_, greeting_, hello_);
  EXPECT_NE(keys.to_client, keys.to_server);
  const HelloBytes again = make_hello(key_, greeting_, client_, nonce_of(3));
  EXPECT_NE(make_session_keys(key_, greeting_, again).to_client, keys.to_client);
  const GreetingBytes later = make_greeting(server_, nonce_of(4));
  EXPECT_NE(make_session_keys(key_, later, hello_).to_server, keys.to_server);
}

}  // namespace
}  // namespace hoccl::hw
