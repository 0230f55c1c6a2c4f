// What two verbs links say to each other: whatever is read is written as the same bytes, and names
// only what there is.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

#include "engine/base/check.h"
#include "hw/link/control_frame.h"
#include "hw/link/introduction.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hoccl::hw;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  constexpr FrameLimits kLimits{.sender_nics = 8, .receiver_nics = 4};
  if (const auto frame = decode_control_frame(input, kLimits)) {
    HOCCL_CHECK(encode(*frame) == input, "a frame of kind {} is written differently",
                frame->index());
    if (const auto* connect = std::get_if<ConnectFrame>(&*frame)) {
      HOCCL_CHECK(connect->sender_nic < kLimits.sender_nics &&
                      connect->receiver_nic < kLimits.receiver_nics &&
                      connect->conduit < kMaxConduits && connect->first_sequence > 0,
                  "a Connect names NIC {} and {}", connect->sender_nic, connect->receiver_nic);
    }
    if (const auto* item = std::get_if<ItemFrame>(&*frame)) {
      HOCCL_CHECK(item->header.sequence > 0, "an Item has no number");
    }
  }
  if (const auto introduction = decode_introduction(input)) {
    HOCCL_CHECK(introduction->nics.size() <= kMaxNics, "{} NICs", introduction->nics.size());
    for (const std::uint32_t nic : introduction->serving) {
      HOCCL_CHECK(nic < introduction->nics.size(), "NIC {} of {}", nic, introduction->nics.size());
    }
  }
  return 0;
}
