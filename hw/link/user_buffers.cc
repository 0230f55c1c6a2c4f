#include "hw/link/user_buffers.h"

#include <fmt/format.h>

#include <utility>

#include "hw/system/warning.h"
#include "hw/verbs/verbs_error.h"

namespace hoccl::hw {

using engine::BufferHandle;
using engine::BufferImported;
using engine::BufferRegistered;
using engine::Bytes;
using engine::Rank;
using engine::Region;

UserBuffers::UserBuffers(LinkContext& context, BufferRegistry& registry, ExportOf export_of,
                         Completed completed)
    : context_(context),
      registry_(registry),
      export_of_(std::move(export_of)),
      completed_(std::move(completed)) {}

UserBuffers::~UserBuffers() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void UserBuffers::register_buffer(BufferHandle buffer) {
  {
    const std::scoped_lock lock(mutex_);
    waiting_.push_back(buffer);
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  }
  changed_.notify_one();
}

void UserBuffers::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (waiting_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const BufferHandle buffer = waiting_.front();
    waiting_.pop_front();
    is_working_ = true;
    lock.unlock();
    const Registered registered = register_now(buffer);
    lock.lock();
    const bool ok = registered.memory != nullptr && released_.erase(buffer.id) == 0;
    if (ok) own_[buffer.id] = registered;
    lock.unlock();
    completed_(BufferRegistered{buffer, ok});
    lock.lock();
    is_working_ = false;
  }
}

UserBuffers::Registered UserBuffers::register_now(BufferHandle buffer) {
  const std::optional<BufferRegistry::Segment> found = registry_.segment(buffer);
  if (!found) return {};  // released before its turn came
  const BufferRegistry::Segment& segment = *found;
  const SegmentKey key{segment.whole.data(), segment.whole.size(), segment.identity};
  std::shared_ptr<RegisteredMemory> memory;
  {
    const std::scoped_lock lock(mutex_);
    if (const auto entry = cache_.find(key); entry != cache_.end()) memory = entry->second.lock();
  }
  if (memory == nullptr) {
    try {
      memory = std::make_shared<RegisteredMemory>(
          context_.nics, segment.whole, RemoteAccess::kWrite, context_.options.relaxed_ordering,
          export_of_(segment.whole));
    } catch (const VerbsError& error) {
      warn(fmt::format("hoccl: rank {}: {}\n", context_.rank, error.what()));
      return {};
    }
    const std::scoped_lock lock(mutex_);
    std::erase_if(cache_, [](const auto& entry) { return entry.second.expired(); });
    cache_[key] = memory;
  }
  return {segment.buffer, std::move(memory), segment.block};
}

void UserBuffers::import_buffer(BufferHandle buffer) {
  bool is_known = false;
  {
    const std::scoped_lock lock(mutex_);
    is_known = imported_.contains(buffer);
    if (!is_known) importing_.insert(buffer);
  }
  if (is_known) {
    completed_(BufferImported{buffer, true});
  } else {
    context_.send(buffer.owner, ImportFrame{buffer.id});
  }
}

void UserBuffers::release(BufferHandle buffer) {
  Registered released;  // unregistered without the lock
  const std::scoped_lock lock(mutex_);
  const auto entry = own_.find(buffer.id);
  if (entry == own_.end()) {
    const bool is_waiting = is_working_ || !waiting_.empty();
    if (is_waiting) released_.insert(buffer.id);  // handles are never used again
    return;
  }
  released = std::move(entry->second);
  own_.erase(entry);
}

void UserBuffers::answer(Rank importer, const ImportFrame& frame) {
  ImportedFrame reply;
  reply.buffer = frame.buffer;
  {
    const std::scoped_lock lock(mutex_);
    if (const auto entry = own_.find(frame.buffer); entry != own_.end()) {
      const Registered& registered = entry->second;
      reply.ok = 1;
      reply.address = reinterpret_cast<std::uint64_t>(registered.buffer.data());
      reply.size_bytes = static_cast<std::int64_t>(registered.buffer.size());
      for (std::size_t nic = 0; nic < context_.nics.size(); ++nic) {
        reply.keys.at(nic) = registered.memory->remote_key(nic);
      }
    }
  }
  context_.send(importer, reply);
}

void UserBuffers::imported(Rank owner, const ImportedFrame& frame) {
  const BufferHandle buffer{owner, frame.buffer};
  {
    const std::scoped_lock lock(mutex_);
    if (!importing_.contains(buffer)) return;  // nobody asked
    if (frame.ok != 0) imported_[buffer] = {frame.address, Bytes(frame.size_bytes), frame.keys};
  }
  completed_(BufferImported{buffer, frame.ok != 0});
  const std::scoped_lock lock(mutex_);
  importing_.erase(buffer);
}

void UserBuffers::lose(Rank peer) {
  std::vector<BufferHandle> refused;
  {
    const std::scoped_lock lock(mutex_);
    std::erase_if(imported_, [&](const auto& entry) { return entry.first.owner == peer; });
    for (const BufferHandle& buffer : importing_) {
      if (buffer.owner == peer) refused.push_back(buffer);
    }
    for (const BufferHandle& buffer : refused) importing_.erase(buffer);
  }
  for (const BufferHandle& buffer : refused) completed_(BufferImported{buffer, false});
}

std::optional<WireAddress> UserBuffers::local(const Region& region, std::uint32_t nic) const {
  const std::scoped_lock lock(mutex_);
  const auto entry = own_.find(region.buffer.id);
  if (entry == own_.end()) return std::nullopt;
  const Registered& own = entry->second;
  if (region.offset + region.size > Bytes(own.buffer.size())) return std::nullopt;
  return own.memory->local(nic, own.buffer.data() + region.offset.count());
}

std::optional<WireAddress> UserBuffers::remote(const Region& region, std::uint32_t nic) const {
  const std::scoped_lock lock(mutex_);
  const auto entry = imported_.find(region.buffer);
  if (entry == imported_.end()) return std::nullopt;
  const Imported& buffer = entry->second;
  if (region.offset + region.size > buffer.size) return std::nullopt;
  return WireAddress{buffer.address + static_cast<std::uint64_t>(region.offset.count()),
                     buffer.keys.at(nic)};
}

bool UserBuffers::idle() const {
  const std::scoped_lock lock(mutex_);
  return waiting_.empty() && !is_working_ && importing_.empty();
}

}  // namespace hoccl::hw
