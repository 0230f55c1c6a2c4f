#pragma once

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/fabric.h"
#include "engine/topology/topology.h"
#include "engine/trace/trace_recorder.h"
#include "sim/calibration/calibration.h"
#include "sim/fabric/sim_fabric.h"
#include "sim/fabric/sim_port.h"

namespace hoccl::sim {

/// What the arithmetic of a run may differ from a closed form.
inline constexpr double kRounding = 1e-9;

/// A fabric whose ports are driven by hand, with the calibration of its topology.
class HandDriven : public testing::Test {
 protected:
  /// `settings` as `--set` takes them.
  void start(const std::string& topology, const std::vector<std::string>& settings = {}) {
    start(engine::preset_topology(topology), settings);
  }

  void start(engine::Topology topology, const std::vector<std::string>& settings = {}) {
    topology_ = std::make_unique<engine::Topology>(std::move(topology));
    constants_ = calibration_for(*topology_);
    for (const std::string& each : settings) constants_.set(each);
    SimOptions options;
    options.slots = 16;
    options.slot_size = engine::Bytes(64 << 20);
    options.trace = &trace_;
    fabric_ = std::make_unique<SimFabric>(*topology_, constants_, options);
  }

  SimPort& port(int rank) { return fabric_->sim_port(engine::Rank(rank)); }

  /// Part of a slot of the place next to a GPU, which its whole node may name.
  engine::Region send_slot(int gpu, std::int32_t slot, engine::Bytes size) {
    const engine::StagingPlace& place = staging(gpu);
    return {place.send_slots, place.slot_size * std::int64_t{slot}, size};
  }
  engine::Region receive_slot(int gpu, std::int32_t slot, engine::Bytes size) {
    const engine::StagingPlace& place = staging(gpu);
    return {place.receive_slots, place.slot_size * std::int64_t{slot}, size};
  }
  const engine::StagingPlace& staging(int gpu) {
    return port(0).staging(topology_->place_of(engine::GpuId(gpu)));
  }

  engine::CopyRequest copy(engine::Region source, engine::Region target,
                           engine::Leg leg = engine::Leg::kStageIn) {
    return {.source = source, .target = target, .leg = leg, .tag = tag_};
  }
  engine::WriteRequest write(int source_gpu, int target_gpu, engine::Bytes size) {
    engine::WriteRequest request{.local = send_slot(source_gpu, 0, size),
                                 .remote = receive_slot(target_gpu, 0, size),
                                 .immediate = 7,
                                 .descriptor = {},
                                 .tag = tag_};
    request.descriptor.chunk = 3;
    return request;
  }
  engine::QueuePairId pair(int rank, int local_nic, int remote_nic, int index = 0) {
    const engine::NicId remote(remote_nic);
    const engine::Rank peer = topology_->host_of(topology_->place_of(remote));
    return port(rank).queue_pair(engine::NicId(local_nic), remote, peer, index);
  }

  /// Everything of one kind that the rank can see now.
  template <class Kind>
  std::vector<Kind> seen(int rank) {
    std::array<engine::Completion, 16> completions;
    std::vector<Kind> result;
    while (const std::size_t count = port(rank).poll(completions)) {
      for (const engine::Completion& each : std::span(completions).first(count)) {
        if (const Kind* kind = std::get_if<Kind>(&each)) result.push_back(*kind);
      }
    }
    return result;
  }

  /// The completion of this kind becomes visible at `time` and not 0.1 ns before.
  template <class Kind>
  void expect_seen_at(int rank, engine::Seconds time) {
    fabric_->run_until(time - engine::Seconds(1e-10));
    EXPECT_TRUE(seen<Kind>(rank).empty()) << "before " << time.count();
    fabric_->run_until(time + engine::Seconds(1e-10));
    EXPECT_EQ(seen<Kind>(rank).size(), 1U) << "at " << time.count();
  }

  /// Events of one name, in order of recording.
  std::vector<engine::TraceEvent> events(std::string_view name) {
    std::vector<engine::TraceEvent> result;
    for (const engine::TraceEvent& each : trace_.events()) {
      if (each.name == name) result.push_back(each);
    }
    return result;
  }

  engine::BytesPerSecond nvlink_rate() { return constants_.rates(*topology_).nvlink; }
  engine::BytesPerSecond nic_rate() { return constants_.rates(*topology_).nic; }
  engine::Seconds single_copy_cost(engine::CopyClass copy_class = engine::CopyClass::kPeer) {
    return constants_.copy_post_of(copy_class).alone;
  }

  engine::TraceRecorder trace_;
  std::unique_ptr<engine::Topology> topology_;
  Calibration constants_;
  std::unique_ptr<SimFabric> fabric_;
  engine::ChunkTag tag_{.operation = {.communicator = 0, .source = 0, .target = 9, .number = 1},
                        .flow = engine::FlowId(2),
                        .chunk = 3,
                        .source = engine::Rank(0)};
};

}  // namespace hoccl::sim
