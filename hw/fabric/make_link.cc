#include "hw/fabric/make_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "engine/base/config_error.h"
#include "hw/link/loopback_link.h"
#include "hw/link/map_link.h"
#include "hw/nic/nic_choice.h"
#include "hw/nic/read_rdma_devices.h"
#ifdef HOCCL_WITH_VERBS
#include "hw/link/verbs_link.h"
#endif

namespace hoccl::hw {

std::unique_ptr<Link> make_link(const HwOptions& options, [[maybe_unused]] Bootstrap& bootstrap,
                                [[maybe_unused]] const engine::Topology& topology, Node& node,
                                [[maybe_unused]] Device& device, LegTrace& trace,
                                [[maybe_unused]] LinkEvents events) {
  switch (options.link) {
    case LinkKind::kLoopback:
      return std::make_unique<LoopbackLink>(
          node, LoopbackLink::Wire{options.link_rate, options.link_delay}, trace);
    case LinkKind::kLoopbackMap:
      return std::make_unique<MapLink>(node);
    case LinkKind::kVerbs:
#ifdef HOCCL_WITH_VERBS
      return std::make_unique<VerbsLink>(bootstrap, topology, node, device, options, trace,
                                         std::move(events));
#else
      throw engine::ConfigError(
          "link = verbs: this program was built without it; configure with HOCCL_VERBS=ON");
#endif
  }
  return nullptr;
}

void require_available(LinkKind kind, const VerbsOptions& options) {
  const auto refuse = [](const std::string& what, const std::string& expected) {
    throw engine::ConfigError(fmt::format("{}: expected {}", what, expected));
  };
  if (kind != LinkKind::kVerbs) {
    if (options == VerbsOptions()) return;
    refuse(
        fmt::format("--rdma options, --gid-index, --traffic-class or --service-level with --link "
                    "= '{}'",
                    to_string(kind)),
        "--link verbs");
  }
  if (!has_verbs()) {
    refuse("link = 'verbs'", "a program built with HOCCL_VERBS=ON");
  }
  const std::vector<RdmaDevice> devices = read_rdma_devices();
  if (devices.empty()) choose_nics("", 0, 1, devices, {});  // which says what to do
  constexpr std::array kMtus = {256, 512, 1024, 2048, 4096};
  if (options.mtu_bytes && std::ranges::find(kMtus, *options.mtu_bytes) == kMtus.end()) {
    refuse(fmt::format("rdma-mtu = '{}'", *options.mtu_bytes), "256, 512, 1024, 2048 or 4096");
  }
}

#ifdef HOCCL_WITH_VERBS
bool has_verbs() { return true; }

std::string objection_to_gpu_slots(const HwOptions& options, const engine::Topology& topology,
                                   engine::Rank rank, Device& device) {
  if (options.link != LinkKind::kVerbs || !device.has_own_memory()) return {};
  return VerbsLink::objection_to_gpu_memory(options, topology, rank, device);
}
#else
bool has_verbs() { return false; }

std::string objection_to_gpu_slots(const HwOptions& /*options*/,
                                   const engine::Topology& /*topology*/, engine::Rank /*rank*/,
                                   Device& /*device*/) {
  return {};
}
#endif

}  // namespace hoccl::hw
