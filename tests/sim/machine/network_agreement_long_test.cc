#include "tests/sim/machine/network_agreement.h"

namespace hoccl::sim {
namespace {

class NetworkAgreementLong : public testing::TestWithParam<std::uint64_t> {};

TEST_P(NetworkAgreementLong, FluidAndCm02GiveTheSameFinishTimes) {
  expect_agreement(GetParam(), 2000);
}

INSTANTIATE_TEST_SUITE_P(Seed, NetworkAgreementLong, testing::Range<std::uint64_t>(1, 201));

}  // namespace
}  // namespace hoccl::sim
