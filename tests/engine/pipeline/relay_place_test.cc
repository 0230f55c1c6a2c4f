#include "engine/pipeline/relay_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/support/ideal_fabric.h"

namespace hoccl::engine {
namespace {

constexpr Bytes kChunk(4096);

class RelayPlace : public testing::Test {
 protected:
  void use(const Topology& topology) {
    IdealOptions options;
    options.slot_size = kChunk;
    fabric_ = std::make_unique<IdealFabric>(topology, options);
  }
  void use(const std::string& preset) { use(resolve_topology(preset)); }
  PlaceId place(int source, int target, Bytes chunk = kChunk) {
    return relay_place(fabric_->port(Rank(source)), Rank(source), Rank(target), chunk);
  }

  std::unique_ptr<IdealFabric> fabric_;
};

TEST_F(RelayPlace, IsOnAThirdGpuOfTheNode) {
  use("h800-2x3");
  EXPECT_EQ(place(0, 1), PlaceId(2));
  EXPECT_EQ(place(1, 0), PlaceId(2));
  EXPECT_EQ(place(0, 2), PlaceId(1));
  EXPECT_EQ(place(4, 5), PlaceId(3));
}

TEST_F(RelayPlace, IsTheSameForBothEnds) {
  use("h800-1x8");
  for (int source = 0; source < 8; ++source) {
    for (int target = 0; target < 8; ++target) {
      if (source == target) continue;
      EXPECT_EQ(place(source, target),
                relay_place(fabric_->port(Rank(target)), Rank(source), Rank(target), kChunk));
    }
  }
}

/// Nobody's flows to all others, or from all others, meet in one place.
TEST_F(RelayPlace, SpreadsWhatARankSendsAndReceives) {
  use("h800-1x8");
  for (int rank = 0; rank < 8; ++rank) {
    std::map<PlaceId, int> sent;
    std::map<PlaceId, int> received;
    for (int other = 0; other < 8; ++other) {
      if (other == rank) continue;
      sent[place(rank, other)] += 1;
      received[place(other, rank)] += 1;
    }
    for (const auto& counts : {sent, received}) {
      EXPECT_GE(counts.size(), 4U);
      for (const auto& [place, flows] : counts) EXPECT_LE(flows, 2);
    }
  }
}

TEST_F(RelayPlace, MayBeOnAGpuWithoutARank) {
  use(resolve_topology("h800-1x4").with_ranks(2));
  EXPECT_EQ(place(0, 1), PlaceId(2));
}

TEST_F(RelayPlace, IsInHostMemoryWhereSlotsAreThere) {
  TopologyDescription description = resolve_topology("h800-1x2").description();
  description.staging = StagingKind::kHost;
  use(Topology(description));
  EXPECT_EQ(place(0, 1), fabric_->topology().host_place(NodeId(0)));
}

TEST_F(RelayPlace, IsNoneWhereNothingCanRelay) {
  use("h800-2x2");
  EXPECT_TRUE(place(0, 1).is_none()) << "every GPU is an end";
  EXPECT_TRUE(place(0, 2).is_none()) << "another node";
  use("h800-1x3");
  EXPECT_TRUE(place(0, 1, kChunk + Bytes(1)).is_none()) << "no slot holds a chunk";
}

}  // namespace
}  // namespace hoccl::engine
