#include "hw/link/control_frame.h"

#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

namespace hoccl::hw {
namespace {

// Frames are sent as they lie in memory, behind four bytes that name their kind.
static_assert(std::endian::native == std::endian::little, "ranks would disagree about numbers");
constexpr std::size_t kKindSize = sizeof(std::uint32_t);

bool is_known(const QueuePairAddress& address) {
  return address.number < (1U << 24) && address.first_packet < (1U << 24) &&
         address.nic.is_infiniband <= 1;
}

bool is_conduit(std::uint32_t conduit, std::uint32_t attempt) {
  return conduit < kMaxConduits && attempt > 0;
}

bool is_valid(const ConnectFrame& frame, const FrameLimits& limits) {
  return is_conduit(frame.conduit, frame.attempt) && frame.sender_nic < limits.sender_nics &&
         frame.receiver_nic < limits.receiver_nics && frame.first_sequence > 0 &&
         is_known(frame.sender);
}
bool is_valid(const AcceptFrame& frame, const FrameLimits& /*limits*/) {
  return is_conduit(frame.conduit, frame.attempt) && is_known(frame.receiver);
}
bool is_valid(const RefuseFrame& frame, const FrameLimits& /*limits*/) {
  return is_conduit(frame.conduit, frame.attempt) && frame.error_number > 0 &&
         frame.error_number < 4096;  // the kernel's MAX_ERRNO
}
bool is_valid(const CloseFrame& frame, const FrameLimits& /*limits*/) {
  return is_conduit(frame.conduit, frame.attempt);
}
bool is_valid(const ClosedFrame& frame, const FrameLimits& /*limits*/) {
  return is_conduit(frame.conduit, frame.attempt);
}
bool is_valid(const BrokenFrame& frame, const FrameLimits& /*limits*/) {
  return is_conduit(frame.conduit, frame.attempt);
}
bool is_valid(const ItemFrame& frame, const FrameLimits& /*limits*/) {
  return frame.conduit < kMaxConduits && frame.header.sequence > 0 &&
         frame.header.record.kind == Record::Kind::kMessage;
}
bool is_valid(const ImportFrame& frame, const FrameLimits& /*limits*/) { return frame.buffer >= 0; }
bool is_valid(const ImportedFrame& frame, const FrameLimits& /*limits*/) {
  return frame.buffer >= 0 && frame.ok <= 1 && frame.size_bytes >= 0;
}

template <std::size_t... kinds>
std::optional<ControlFrame> decode(std::string_view bytes, const FrameLimits& limits,
                                   std::index_sequence<kinds...> /*all*/) {
  std::uint32_t kind = 0;
  if (bytes.size() < kKindSize) return std::nullopt;
  std::memcpy(&kind, bytes.data(), kKindSize);
  bytes.remove_prefix(kKindSize);
  std::optional<ControlFrame> result;
  const auto try_kind = [&]<std::size_t of>(std::integral_constant<std::size_t, of> /*kind*/) {
    using Frame = std::variant_alternative_t<of, ControlFrame>;
    static_assert(std::has_unique_object_representations_v<Frame>, "padding would be sent");
    if (kind != of || bytes.size() != sizeof(Frame)) return;
    Frame frame;
    std::memcpy(&frame, bytes.data(), sizeof frame);
    if (is_valid(frame, limits)) result = frame;
  };
  (try_kind(std::integral_constant<std::size_t, kinds>()), ...);
  return result;
}

}  // namespace

std::string encode(const ControlFrame& frame) {
  const auto kind = static_cast<std::uint32_t>(frame.index());
  std::string bytes(kKindSize, '\0');
  std::memcpy(bytes.data(), &kind, kKindSize);
  std::visit([&](const auto& of) { bytes.append(reinterpret_cast<const char*>(&of), sizeof of); },
             frame);
  return bytes;
}

std::optional<ControlFrame> decode_control_frame(std::string_view bytes,
                                                 const FrameLimits& limits) {
  return decode(bytes, limits, std::make_index_sequence<std::variant_size_v<ControlFrame>>());
}

}  // namespace hoccl::hw
