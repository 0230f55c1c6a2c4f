#include "hw/nic/gid_choice.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/config_error.h"

namespace hoccl::hw {
namespace {

using engine::ConfigError;
using testing::ThrowsMessage;

GidEntry gid_entry(int index, const char* address, GidKind kind = GidKind::kRoceV2,
                   const std::string& net_device = "eth0") {
  GidEntry entry{.index = index, .kind = kind, .net_device = net_device};
  EXPECT_EQ(::inet_pton(AF_INET6, address, entry.gid.data()), 1) << address;
  return entry;
}

RdmaPort roce_port(std::vector<GidEntry> gids) {
  return {.number = 1, .active = true, .gids = std::move(gids)};
}

int choose_of(const RdmaPort& port, std::optional<int> wanted = std::nullopt) {
  return choose_gid({.name = "rxe0"}, port, wanted);
}

TEST(GidChoice, IsTheFirstOnInfiniBand) {
  RdmaPort port = roce_port({gid_entry(0, "fe80::1", GidKind::kInfiniBand),
                             gid_entry(1, "2001:db8::1", GidKind::kInfiniBand)});
  port.is_infiniband = true;
  EXPECT_EQ(choose_of(port), 0);
  EXPECT_EQ(choose_of(port, 1), 1);
  port.gids.clear();
  EXPECT_EQ(choose_of(port), 0);
  EXPECT_EQ(choose_of(port, 0), 0);
  EXPECT_THAT([&] { choose_of(port, 2); },
              ThrowsMessage<ConfigError>("gid index 2: rxe0 port 1 has no such entry; expected 0"));
}

TEST(GidChoice, PrefersIpv4ToGlobalIpv6ToLinkLocal) {
  const GidEntry link_local = gid_entry(0, "fe80::ff:fe00:1");
  const GidEntry global = gid_entry(1, "2001:db8::1");
  const GidEntry ipv4 = gid_entry(2, "::ffff:10.77.0.1");
  EXPECT_EQ(choose_of(roce_port({link_local, global, ipv4})), 2);
  EXPECT_EQ(choose_of(roce_port({link_local, global})), 1);
  EXPECT_EQ(choose_of(roce_port({link_local})), 0);
  // fe80::/10 ends at febf; unique local addresses are routed.
  EXPECT_EQ(choose_of(roce_port({gid_entry(3, "febf::1"), gid_entry(4, "fd00::1")})), 4);
}

TEST(GidChoice, TakesTheLowestOfEquals) {
  EXPECT_EQ(
      choose_of(roce_port({gid_entry(5, "::ffff:10.0.0.2"), gid_entry(3, "::ffff:10.0.0.1")})), 3);
}

TEST(GidChoice, NeverTakesRoceV1ByItself) {
  EXPECT_EQ(choose_of(roce_port(
                {gid_entry(0, "::ffff:10.0.0.1", GidKind::kRoceV1), gid_entry(1, "fe80::1")})),
            1);
}

TEST(GidChoice, TakesTheWantedOneThatIsThere) {
  const RdmaPort port = roce_port({gid_entry(0, "fe80::1"), gid_entry(1, "::ffff:10.0.0.1")});
  EXPECT_EQ(choose_of(port, 0), 0);
  EXPECT_EQ(choose_of(port, 1), 1);
}

TEST(GidChoice, RefusesAWantedOneThatIsNotThereAndListsTheOthers) {
  RdmaPort port = roce_port({gid_entry(0, "fe80::ff:fe00:1"), gid_entry(1, "::ffff:10.77.0.1")});
  EXPECT_THAT([&] { choose_of(port, 7); },
              ThrowsMessage<ConfigError>(
                  "gid index 7: rxe0 port 1 has no such entry; expected 0 (fe80::ff:fe00:1, RoCE "
                  "v2) or 1 (::ffff:10.77.0.1, RoCE v2)"));
  EXPECT_THROW(choose_of(port, -1), ConfigError);
  port.gids.push_back(gid_entry(4, "2001:db8::1"));
  EXPECT_THAT([&] { choose_of(port, 2); },
              ThrowsMessage<ConfigError>(testing::EndsWith(
                  "expected 0 (fe80::ff:fe00:1, RoCE v2), 1 (::ffff:10.77.0.1, RoCE v2) or 4 "
                  "(2001:db8::1, RoCE v2)")));
}

TEST(GidChoice, RefusesAWantedOneOfRoceV1) {
  const RdmaPort port =
      roce_port({gid_entry(0, "fe80::1", GidKind::kRoceV1), gid_entry(1, "fe80::1")});
  EXPECT_THAT([&] { choose_of(port, 0); },
              ThrowsMessage<ConfigError>("gid index 0: rxe0 port 1 has a RoCE v1 entry there; "
                                         "expected 1 (fe80::1, RoCE v2)"));
}

TEST(GidChoice, SaysWhatToDoWhereThereIsNone) {
  EXPECT_THAT([] { choose_of(roce_port({gid_entry(0, "fe80::1", GidKind::kRoceV1, "eth3")})); },
              ThrowsMessage<ConfigError>(
                  "gid index: rxe0 port 1 has no RoCE v2 entry at all; give eth3 an IP address (ip "
                  "address add … dev eth3), and bring it up"));
  EXPECT_THAT([] { choose_of(roce_port({}), 3); },
              ThrowsMessage<ConfigError>(
                  "gid index 3: rxe0 port 1 has no RoCE v2 entry at all; give its network "
                  "interface (`rdma link` names it) an IP address, and bring it up"));
}

}  // namespace
}  // namespace hoccl::hw
