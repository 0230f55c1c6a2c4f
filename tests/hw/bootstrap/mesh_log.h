#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "hw/node/local_mesh.h"

namespace hoccl::hw::test {

/// Keeps what a mesh reports, for a test to wait for. Must outlive the mesh.
class MeshLog {
 public:
  enum class End : std::uint8_t { kNone, kLeft, kDied };

  void start(LocalMesh& mesh) {
    mesh.start([this](LocalMesh::Packet packet) { keep(std::move(packet)); },
               [this](engine::Rank peer, bool died) { keep_end(peer, died); });
  }

  /// What `peer` has sent, once it is `count` packets; fewer after a while.
  std::vector<std::string> await_packets(engine::Rank peer, std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kPatience, [&] { return packets_[peer].size() >= count; });
    return packets_[peer];
  }
  /// kNone after a while.
  End await_end(engine::Rank peer) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kPatience, [&] { return ends_[peer] != End::kNone; });
    return ends_[peer];
  }
  std::vector<FileDescriptor> take_descriptors() {
    const std::lock_guard lock(mutex_);
    return std::move(descriptors_);
  }

 private:
  static constexpr std::chrono::seconds kPatience{20};

  void keep(LocalMesh::Packet packet) {
    const std::lock_guard lock(mutex_);
    packets_[packet.source].emplace_back(reinterpret_cast<const char*>(packet.payload.data()),
                                         packet.payload.size());
    for (FileDescriptor& descriptor : packet.descriptors) {
      descriptors_.push_back(std::move(descriptor));
    }
    changed_.notify_all();
  }
  void keep_end(engine::Rank peer, bool died) {
    const std::lock_guard lock(mutex_);
    ends_[peer] = died ? End::kDied : End::kLeft;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<engine::Rank, std::vector<std::string>> packets_;
  std::map<engine::Rank, End> ends_;
  std::vector<FileDescriptor> descriptors_;
};

}  // namespace hoccl::hw::test
