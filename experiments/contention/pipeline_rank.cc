#include "experiments/contention/pipeline_rank.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/pipeline/options.h"
#include "engine/schedule/compile.h"
#include "engine/topology/topology.h"
#include "hw/bootstrap/bootstrap.h"
#include "hw/fabric/hw_options.h"

namespace hoccl::contention {
namespace {

using engine::Bytes;
using engine::Rank;

constexpr Bytes kChunk{std::int64_t{2} << 20};
static_assert(kPipelineMessage % kChunk == Bytes(0), "every copy moves a whole chunk");
constexpr std::uint16_t kCommunicator = 1;
constexpr engine::StreamId kStream(0);

engine::Topology topology() {
  return engine::preset_topology("h200-1x1").with_ranks(kPipelineRanks);
}

// Streams, quantum and slots are those that `hoccl run --copy cuda` takes by itself.
hw::HwOptions hardware() {
  hw::HwOptions options;
  options.copy = hw::CopyKind::kCuda;
  options.link = hw::LinkKind::kLoopbackMap;
  options.slots = 48;
  options.slot_size = kChunk;
  options.strict = true;
  return options;
}

engine::PipelineOptions pipeline() {
  engine::PipelineOptions options;
  options.streams = 1;
  options.quantum = 16;
  // A message takes milliseconds; nobody wants to wait for half a minute to hear that it does not.
  options.timeout = engine::Seconds(5.0);
  return options;
}

engine::CompileOptions compiling() {
  engine::CompileOptions options;
  options.chunk_size = kChunk;
  options.nodes_per_stage_in = 1;  // a slot that changes its owner goes to one node
  return options;
}

}  // namespace

PipelineRank::PipelineRank(const hw::Launch& launch)
    : fabric_(hw::Bootstrap::connect(launch, {}), topology(), hardware()),
      proxy_(fabric_, pipeline()),
      communicator_(fabric_.port(fabric_.rank()), kCommunicator, compiling()),
      buffer_{fabric_.allocate(kPipelineMessage), Bytes(0), kPipelineMessage} {}

bool PipelineRank::sends() const { return fabric_.rank() == Rank(0); }

void PipelineRank::fill(std::span<const std::byte> message) { fabric_.write(buffer_, message); }

bool PipelineRank::holds(std::span<const std::byte> message) {
  std::vector<std::byte> found(message.size());
  fabric_.read(found, buffer_);
  return std::ranges::equal(found, message);
}

void PipelineRank::enqueue() {
  works_.push_back(sends() ? communicator_.send(buffer_, Rank(1), kStream)
                           : communicator_.receive(buffer_, Rank(0), kStream));
}

Bytes PipelineRank::copied() const {
  const std::optional<engine::DriverUse> use = proxy_.driver_use();
  return use ? kChunk * use->copies : Bytes(0);
}

}  // namespace hoccl::contention
