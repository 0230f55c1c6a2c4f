#include "tests/fabric/conformance.h"

#include <array>

#include "tests/fabric/local_job.h"

namespace hoccl::engine {

FabricSettings FabricFactory::between_nodes() const {
  FabricSettings settings;
  settings.ranks = ranks;
  return settings;
}

FabricSettings FabricFactory::within_a_node() const {
  FabricSettings settings = between_nodes();
  if (ranks < 4) settings.topology = "h800-1x4";
  return settings;
}

FabricFactory local_factory(
    const std::string& name,
    const std::function<std::unique_ptr<FabricUnderTest>(const FabricSettings&)>& make) {
  FabricFactory factory;
  factory.name = name;
  factory.make = make;
  factory.make_job = [make](const FabricSettings& settings, const PipelineOptions& pipeline,
                            const CompileOptions& compile) {
    return std::make_unique<LocalJob>(make(settings), pipeline, compile);
  };
  return factory;
}

/// Made when it is first needed: some fabrics allow only one in a process.
FabricUnderTest& PortConformance::fabric() {
  if (fabric_ == nullptr) make(GetParam().between_nodes());
  return *fabric_;
}

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

void PortConformance::stage(int index, Bytes size, std::uint64_t message) {
  const Region buffer{fabric().allocate(Rank(source()), size), Bytes(0), size};
  fabric().fill(buffer, message);
  CopyRequest request;
  request.source = buffer;
  request.target = slot(send_place(), true, index, size);
  request.leg = Leg::kStageIn;
  port(source()).post_copy({CopyClass::kPeer, 0}, request);
  port(source()).flush();
  run();
  drain(source());
}

bool PortConformance::pull(int index, Bytes size, std::uint64_t message) {
  const Region buffer{fabric().allocate(Rank(target()), size), Bytes(0), size};
  CopyRequest request;
  request.source = slot(receive_place(), false, index, size);
  request.target = buffer;
  request.leg = Leg::kDeliver;
  port(target()).post_copy({CopyClass::kPeer, 0}, request);
  port(target()).flush();
  run();
  drain(target());
  return fabric().holds(buffer, message);
}

NicId PortConformance::send_nic() { return topology().nics_of(NodeId(0))[1]; }
NicId PortConformance::receive_nic() { return topology().nics_of(NodeId(1))[1]; }

}  // namespace hoccl::engine
