#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <tuple>
#include <vector>

#include "engine/fabric.h"
#include "hw/link/control_frame.h"
#include "hw/link/link_context.h"
#include "hw/node/buffer_registry.h"
#include "hw/verbs/registration.h"

namespace hoccl::hw {

/// User buffers that NICs read and write (the VCCL way): registers this rank's, on a thread of its
/// own, because that takes milliseconds, and learns the keys of those of ranks of other nodes.
///
/// What is registered is the whole allocation around a buffer, once: buffers of one allocation find
/// it in the cache. It is given back with the last of them.
class UserBuffers {
 public:
  using Completed = std::function<void(const engine::Completion&)>;
  /// For memory of a GPU; null otherwise.
  using ExportOf = std::function<DmaBufExport(std::span<const std::byte>)>;

  /// `completed` receives BufferRegistered and BufferImported, from any thread.
  UserBuffers(LinkContext& context, BufferRegistry& registry, ExportOf export_of,
              Completed completed);
  ~UserBuffers();

  void register_buffer(engine::BufferHandle buffer);
  void import_buffer(engine::BufferHandle buffer);
  void release(engine::BufferHandle buffer);

  void answer(engine::Rank importer, const ImportFrame& frame);
  void imported(engine::Rank owner, const ImportedFrame& frame);
  void lose(engine::Rank peer);

  /// Of a region of a registered buffer of this rank / an imported one of another. Nothing: it has
  /// been released, or does not lie within what its owner has told of.
  [[nodiscard]] std::optional<WireAddress> local(const engine::Region& region,
                                                 std::uint32_t nic) const;
  [[nodiscard]] std::optional<WireAddress> remote(const engine::Region& region,
                                                  std::uint32_t nic) const;
  /// No registration or import is under way.
  [[nodiscard]] bool idle() const;

 private:
  /// Begin, size and identity of a segment.
  using SegmentKey = std::tuple<const std::byte*, std::size_t, std::uint64_t>;
  struct Registered {
    std::span<std::byte> buffer;
    std::shared_ptr<RegisteredMemory> memory;
    std::shared_ptr<MemoryBlock> block;  ///< what was registered stays mapped
  };
  struct Imported {
    std::uint64_t address = 0;
    engine::Bytes size;
    std::array<std::uint32_t, kMaxNics> keys{};
  };

  void run();
  /// Empty: it cannot be registered; a line on stderr says why.
  [[nodiscard]] Registered register_now(engine::BufferHandle buffer);

  LinkContext& context_;
  BufferRegistry& registry_;
  const ExportOf export_of_;
  const Completed completed_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<engine::BufferHandle> waiting_;
  bool is_working_ = false;
  std::set<std::int32_t> released_;  ///< while they were registered or waited for it
  bool stopping_ = false;
  std::map<std::int32_t, Registered> own_;
  std::map<SegmentKey, std::weak_ptr<RegisteredMemory>> cache_;
  std::map<engine::BufferHandle, Imported> imported_;
  std::set<engine::BufferHandle> importing_;
  std::thread thread_;  ///< started with the first registration
};

}  // namespace hoccl::hw
