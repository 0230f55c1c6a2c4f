// Any text is either a topology or refused in one line.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/base/check.h"
#include "engine/base/config_error.h"
#include "engine/topology/topology.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hoccl::engine;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const Topology topology = parse_topology(text, "fuzz.toml");
    for (int rank = 0; rank < topology.rank_count(); ++rank) {
      HOCCL_CHECK(topology.gpu_of(Rank(rank)).value() < topology.gpu_count(), "rank {}", rank);
    }
    for (int place = 0; place < topology.place_count(); ++place) topology.host_of(PlaceId(place));
  } catch (const ConfigError& error) {
    HOCCL_CHECK(std::string_view(error.what()).find('\n') == std::string_view::npos,
                "more than one line: {}", error.what());
  }
  return 0;
}
