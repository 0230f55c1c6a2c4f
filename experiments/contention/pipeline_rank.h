#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <span>

#include "engine/base/units.h"
#include "engine/communicator.h"
#include "hw/bootstrap/launch.h"
#include "hw/fabric/hw_fabric.h"
#include "hw/fabric/proxy_thread.h"

namespace hoccl::contention {

inline constexpr int kPipelineRanks = 2;
/// With the message that is read and the one that is written, far more than L2 holds.
inline constexpr engine::Bytes kPipelineMessage{std::int64_t{64} << 20};

/// One end of the project's pipeline on this thread's GPU: rank 0 sends, rank 1 receives. Used by
/// one thread.
class PipelineRank {
 public:
  /// Collective over both. Throws what a fabric throws.
  explicit PipelineRank(const hw::Launch& launch);

  [[nodiscard]] bool sends() const;
  void fill(std::span<const std::byte> message);
  [[nodiscard]] bool holds(std::span<const std::byte> message);

  /// This end's side of one more message, behind those before.
  void enqueue();
  /// Messages that were enqueued and not forgotten.
  [[nodiscard]] std::size_t under_way() const { return works_.size(); }
  /// How the oldest of them ended; nothing while it runs.
  [[nodiscard]] std::optional<engine::Status> oldest() const { return works_.front()->status(); }
  void forget_oldest() { works_.pop_front(); }
  /// All that are under way end, here and there.
  void abort() { communicator_.abort(); }

  /// What its copies have moved, in its one direction: the sender's D2H, the receiver's H2D. As of
  /// the posting, a batch or two ahead of the engine.
  [[nodiscard]] engine::Bytes copied() const;

  /// Returns when the other end needs this one no more.
  void leave() { fabric_.bootstrap().barrier(); }

 private:
  hw::HwFabric fabric_;
  hw::ProxyThread proxy_;
  engine::Communicator communicator_;
  engine::Region buffer_;
  std::deque<std::shared_ptr<engine::Work>> works_;
};

}  // namespace hoccl::contention
