// Any 64 bytes are either a message, or the descriptor of an arrival, with every field in range, or
// refused in one line; and what is in range can be indexed by.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "engine/base/check.h"
#include "engine/pipeline/message_check.h"
#include "engine/topology/topology.h"

namespace {

using namespace hoccl::engine;

void check_refusal(const std::string& why) {
  HOCCL_CHECK(why.find('\n') == std::string::npos, "more than one line: {}", why);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Topology topology = preset_topology("h800-2x4");
  static const SlotSupply slots{.slot_size = Bytes(4096), .send_slots = 4, .receive_slots = 4};
  const std::span input(data, size);
  constexpr std::size_t kEnds = 4;
  if (input.size() < kEnds + sizeof(Message)) return 0;
  // Mostly real ranks and NICs, sometimes one that is not there.
  const auto drawn = [&](std::size_t at) { return static_cast<std::int32_t>(input[at] % 9); };
  const Rank sender(drawn(0) % topology.rank_count());
  const Rank receiver(drawn(1) % topology.rank_count());

  Message message;
  std::memcpy(message.bytes.data(), input.data() + kEnds, message.bytes.size());
  check_refusal(wrong_with(message, sender, receiver, topology, slots));

  Arrived arrival;
  arrival.local_nic = NicId(drawn(2));
  arrival.remote_nic = NicId(drawn(3));
  std::memcpy(&arrival.descriptor, input.data() + kEnds, sizeof(arrival.descriptor));
  arrival.immediate = arrival.descriptor.slot;
  const std::string wrong = wrong_with(arrival, sender, receiver, topology, slots);
  check_refusal(wrong);
  if (!wrong.empty()) return 0;
  HOCCL_CHECK(topology.host_of(topology.place_of(arrival.local_nic)) == receiver,
              "arrives at a place of another rank");
  HOCCL_CHECK(topology.host_of(topology.place_of(arrival.remote_nic)) == sender,
              "comes from a place of another rank");
  HOCCL_CHECK(arrival.descriptor.slot < slots.receive_slots &&
                  Bytes(arrival.descriptor.size_bytes) <= slots.slot_size,
              "slot {}, {} bytes", arrival.descriptor.slot, arrival.descriptor.size_bytes);
  return 0;
}
