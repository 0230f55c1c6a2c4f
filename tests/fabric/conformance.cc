#include "tests/fabric/conformance.h"

#include <array>

namespace hoccl::engine {

std::vector<Completion> PortConformance::drain(int rank) {
  std::vector<Completion> all;
  std::array<Completion, 16> some;
  while (const std::size_t count = port(rank).poll(some)) {
    all.insert(all.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return all;
}

Region PortConformance::slot(PlaceId place, bool send, int index, Bytes size) {
  const StagingPlace& staging = port(0).staging(place);
  return {send ? staging.send_slots : staging.receive_slots, staging.slot_size * index, size};
}

void PortConformance::stage(int source, PlaceId place, int index, Bytes size,
                            std::uint64_t message) {
  const Region buffer{fabric_->allocate(Rank(source), size), Bytes(0), size};
  fabric_->fill(buffer, message);
  CopyRequest request;
  request.source = buffer;
  request.target = slot(place, true, index, size);
  request.leg = Leg::kStageIn;
  port(source).post_copy({CopyClass::kPeer, 0}, request);
  port(source).flush();
  run();
  drain(source);
}

bool PortConformance::pull(int target, PlaceId place, int index, Bytes size,
                           std::uint64_t message) {
  const Region buffer{fabric_->allocate(Rank(target), size), Bytes(0), size};
  CopyRequest request;
  request.source = slot(place, false, index, size);
  request.target = buffer;
  request.leg = Leg::kDeliver;
  port(target).post_copy({CopyClass::kPeer, 0}, request);
  port(target).flush();
  run();
  drain(target);
  return fabric_->holds(buffer, message);
}

NicId PortConformance::send_nic() const { return topology().nics_of(NodeId(0)).front(); }
NicId PortConformance::receive_nic() const { return topology().nics_of(NodeId(1)).front(); }
PlaceId PortConformance::send_place() const { return topology().place_of(send_nic()); }
PlaceId PortConformance::receive_place() const { return topology().place_of(receive_nic()); }
int PortConformance::sender() const { return topology().host_of(send_place()).value(); }
int PortConformance::receiver() const { return topology().host_of(receive_place()).value(); }

}  // namespace hoccl::engine
