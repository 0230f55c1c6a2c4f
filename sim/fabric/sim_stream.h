#pragma once

#include "engine/fabric.h"
#include "sim/fabric/world.h"
#include "sim/machine/gpu_stream.h"

namespace hoccl::sim {

/// A gate of one port: the word its stream waits on. Both ends count upwards.
class SimGate {
 public:
  SimGate(World& world, SimPort& port, engine::Gate gate)
      : world_(world), port_(port), gate_(gate) {}
  SimGate(const SimGate&) = delete;
  SimGate& operator=(const SimGate&) = delete;

  [[nodiscard]] MemoryWord& word() { return word_; }
  /// The CPU's store becomes visible at the present instant.
  void store(std::uint64_t sequence) { word_.store(sequence); }
  /// The stream's write has become visible to the CPU.
  void reached(std::uint64_t sequence);

 private:
  World& world_;
  SimPort& port_;
  engine::Gate gate_;
  MemoryWord word_;
};

/// A GPU stream of one rank, with its trace. All calls happen at the present instant.
class SimStream {
 public:
  SimStream(World& world, SimPort& port, engine::StreamId id);
  SimStream(const SimStream&) = delete;
  SimStream& operator=(const SimStream&) = delete;

  void ready(SimGate& gate, engine::Sequence sequence);
  void wait(SimGate& gate, engine::Sequence sequence);
  void kernel(engine::Seconds duration);
  void foreground(bool active);

  [[nodiscard]] GpuStream& gpu_stream() { return stream_; }
  /// End of the last item that took time.
  [[nodiscard]] engine::Seconds idle_since() const { return idle_since_; }

 private:
  enum class Item : std::uint8_t { kReady, kWait, kKernel };

  void begun();
  void ended(std::uint64_t item);
  void passed_foreground(std::uint64_t active);

  World& world_;
  SimPort& port_;
  engine::StreamId id_;
  GpuStream stream_;
  engine::Seconds begin_{0.0};  ///< of the item in progress
  engine::Seconds idle_since_{0.0};
};

}  // namespace hoccl::sim
