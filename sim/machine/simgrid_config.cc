#include "sim/machine/simgrid_config.h"

#include <array>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/NetZone.hpp>
#include <string>

#include "engine/base/check.h"

namespace hoccl::sim {
namespace {

/// Why each flag: SimGrid's defaults model TCP over the Internet.
const std::array<std::string, 12> kFlags = {
    // Max-min fair sharing, no factors on bandwidth and latency, no slow start.
    "network/model:CM02",
    "network/solver:maxmin",
    "network/optim:Lazy",
    // Default on: every flow would take 5% of the reverse direction for acknowledgements.
    "network/crosstraffic:0",
    // Default 20537 in LV08: would favour routes of fast links.
    "network/weight-S:0",
    // Default 4 MiB: would cap a flow at window / (2 * latency).
    "network/TCP-gamma:1e30",
    "network/bandwidth-factor:1",
    "network/latency-factor:1",
    // Absolute, in seconds: completions closer than this happen at once. The default of 1e-9 gives
    // errors of 1e-6 in runs of milliseconds; ties are this project's business (kSameInstant).
    "surf/precision:1e-15",
    // Relative to a link's capacity: when a link counts as full.
    "maxmin/precision:1e-9",
    // No actor ever runs, so this only keeps SimGrid from mapping stacks.
    "contexts/guard-size:0",
    "debug/verbose-exit:0",
};

}  // namespace

void start_simgrid() {
  HOCCL_CHECK(!simgrid::s4u::Engine::has_instance(), "{}",
              "SimGrid keeps global state: one simulation per process");
  // The log setting only silences one line per flag on stderr.
  std::array<std::string, 2> words = {"hoccl", "--log=xbt_cfg.thres:warning"};
  std::array<char*, 3> arguments = {words[0].data(), words[1].data(), nullptr};
  int count = 2;
  simgrid::s4u::Engine::get_instance(&count, arguments.data());
  for (const std::string& flag : kFlags) simgrid::s4u::Engine::set_config(flag);
  simgrid::s4u::create_empty_zone("hoccl");
}

}  // namespace hoccl::sim
