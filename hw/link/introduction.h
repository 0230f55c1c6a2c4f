#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/ids.h"
#include "hw/link/control_frame.h"
#include "hw/verbs/nic_address.h"

namespace hoccl::hw {

/// What a verbs link tells every other of its job when it starts, over the bootstrap: the only way
/// by which keys of slots travel.
struct LinkIntroduction {
  /// The receive slots of a place that the rank hosts.
  struct Place {
    engine::PlaceId place;
    std::uint64_t address = 0;                   ///< of its first receive slot
    std::array<std::uint32_t, kMaxNics> keys{};  ///< by NIC of the rank
  };
  std::vector<NicAddress> nics;
  /// Which of them serves each NIC that the topology gives the rank's node.
  std::vector<std::uint32_t> serving;
  std::vector<Place> places;
};

std::string encode(const LinkIntroduction& introduction);
/// Nothing when it is none.
std::optional<LinkIntroduction> decode_introduction(std::string_view bytes);

}  // namespace hoccl::hw
