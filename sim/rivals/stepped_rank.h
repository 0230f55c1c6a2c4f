#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "engine/collective_system.h"
#include "sim/fabric/sim_fabric.h"
#include "sim/fabric/sim_port.h"
#include "sim/rivals/stream_steps.h"

namespace hoccl::sim {

/// A rank whose operations have steps on the stream before and behind them.
class SteppedRank : public engine::CollectiveSystem {
 public:
  SteppedRank(SimFabric& fabric, engine::CollectiveSystem& inner, StreamSteps& steps,
              engine::Rank rank)
      : fabric_(fabric), inner_(inner), steps_(steps), rank_(rank) {}
  SteppedRank(const SteppedRank&) = delete;
  SteppedRank& operator=(const SteppedRank&) = delete;

  std::shared_ptr<engine::Work> enqueue(std::span<const engine::SendRecvRequest> group,
                                        engine::StreamId stream) override {
    return between_steps(stream, [&] { return inner_.enqueue(group, stream); });
  }
  std::shared_ptr<engine::Work> enqueue(const engine::CollectiveRequest& request,
                                        engine::StreamId stream) override {
    return between_steps(stream, [&] { return inner_.enqueue(request, stream); });
  }

 private:
  template <class Enqueue>
  std::shared_ptr<engine::Work> between_steps(engine::StreamId stream, const Enqueue& enqueue) {
    const auto id = static_cast<std::uint64_t>(stream.value());
    SimPort& port = fabric_.sim_port(rank_);
    port.enqueue_external(stream, Callback::to<&SteppedRank::before>(*this, id));
    std::shared_ptr<engine::Work> work = enqueue();
    port.enqueue_external(stream, Callback::to<&SteppedRank::after>(*this, id));
    return work;
  }
  GpuStream& stream(std::uint64_t id) {
    return fabric_.gpu_stream(rank_, engine::StreamId(static_cast<std::int32_t>(id)));
  }
  void before(std::uint64_t id) { steps_.before(rank_, stream(id)); }
  void after(std::uint64_t id) { steps_.after(rank_, stream(id)); }

  SimFabric& fabric_;
  engine::CollectiveSystem& inner_;
  StreamSteps& steps_;
  engine::Rank rank_;
};

}  // namespace hoccl::sim
