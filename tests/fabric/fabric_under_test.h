#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/fabric.h"
#include "engine/pipeline/proxy.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

struct FabricSettings {
  std::string topology = "h800-2x4";
  int ranks = 8;
  Bytes slot_size = Bytes(4096);
  int send_slots = 4;
  int receive_slots = 4;
};

/// One fabric with what a test needs beyond the seam.
class FabricUnderTest {
 public:
  virtual ~FabricUnderTest() = default;

  virtual Fabric& fabric() = 0;
  [[nodiscard]] virtual const Topology& topology() const = 0;
  /// A user buffer in the memory of the rank's GPU.
  virtual BufferHandle allocate(Rank owner, Bytes size) = 0;
  /// Fills a region with a pattern that tells `message` and position. Nothing without memory.
  virtual void fill(const Region& region, std::uint64_t message) = 0;
  /// Whether the region holds that pattern from its first byte on; true without memory.
  [[nodiscard]] virtual bool holds(const Region& region, std::uint64_t message) = 0;
  /// Computation of the application on the stream.
  virtual void delay(Rank rank, StreamId stream, Seconds time) = 0;
  /// Lets everything happen that is under way, stepping the proxies (by rank) for it.
  virtual void run(std::span<Proxy* const> proxies) = 0;
};

}  // namespace hoccl::engine
