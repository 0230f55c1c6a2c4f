// Any text is either a plan, and then the same one when it is written and read again, or refused in
// one line; so is its fitness for a machine.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/base/check.h"
#include "engine/base/config_error.h"
#include "engine/schedule/plan_json.h"
#include "engine/schedule/verifier.h"
#include "engine/topology/topology.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hoccl::engine;
  static const Topology topology = preset_topology("h800-2x4");
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const Plan plan = plan_from_json(text, "fuzz.json");
    HOCCL_CHECK(plan_from_json(plan_to_json(plan), "again") == plan, "another plan: {}", text);
    verify(plan, nullptr, topology,
           {.slot_size = plan.chunk_size, .send_slots = 4, .receive_slots = 4});
  } catch (const ConfigError& error) {
    HOCCL_CHECK(std::string_view(error.what()).find('\n') == std::string_view::npos,
                "more than one line: {}", error.what());
  }
  return 0;
}
