#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/base/units.h"
#include "engine/fabric.h"
#include "engine/pattern/flow.h"
#include "hw/fabric/hw_fabric.h"

namespace hoccl::hw {

/// The send and the receive buffer of this rank, allocated once and used for every size, as by
/// nccl-tests. Behind each lie guard bytes that nothing may touch.
class RankBuffers {
 public:
  /// Large enough for these flows of the largest size. The fabric must outlive it.
  RankBuffers(HwFabric& fabric, std::span<const engine::Flow> flows);

  [[nodiscard]] const engine::Region& send() const { return send_; }
  [[nodiscard]] const engine::Region& receive() const { return receive_; }

  /// Before the checked operation number `operation`: fills what is sent, scribbles over what is
  /// received.
  void prepare(std::span<const engine::Flow> flows, std::uint64_t seed, std::uint64_t operation);
  /// After it. Empty, or one line: rank, offset, expected, found.
  [[nodiscard]] std::string wrong(std::span<const engine::Flow> flows, std::uint64_t seed,
                                  std::uint64_t operation);

 private:
  engine::Region allocate(engine::Bytes size);
  std::vector<std::byte> received(engine::Bytes offset, engine::Bytes size);

  HwFabric& fabric_;
  engine::Region send_;
  engine::Region receive_;
};

}  // namespace hoccl::hw
