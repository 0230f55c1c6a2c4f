#include "hw/calibrate/cached_registration.h"

#include <variant>

#include "hw/bootstrap/thread_ranks.h"
#include "hw/calibrate/calibration_failed.h"
#include "hw/system/monotonic_clock.h"

namespace hoccl::hw {

using engine::BufferHandle;
using engine::BufferRegistered;
using engine::Bytes;
using engine::Rank;
using engine::Seconds;

CachedRegistration::CachedRegistration(const std::vector<std::unique_ptr<Nic>>& nics,
                                       const VerbsOptions& options)
    : bootstrap_(Bootstrap::connect(make_local_launches(1).front(), {})),
      local_mesh_(*bootstrap_),
      remote_mesh_(*bootstrap_, {}),
      device_(1),
      context_{Rank(0), options, nics, remote_mesh_, no_peers_, no_events_},
      registry_(Rank(0), 0, device_, local_mesh_, [](const engine::Completion&) {}),
      user_buffers_(
          context_, registry_, [](std::span<const std::byte>) { return DmaBufExport(); },
          [this](const engine::Completion& completion) {
            ended_at_ = monotonic_now();
            is_registered_ = std::get<BufferRegistered>(completion).ok;
            ended_.release();
          }) {}

Seconds CachedRegistration::register_buffer(BufferHandle buffer) {
  const Seconds begin = monotonic_now();
  user_buffers_.register_buffer(buffer);
  ended_.acquire();
  return ended_at_ - begin;
}

void CachedRegistration::release(BufferHandle buffer) {
  user_buffers_.release(buffer);
  registry_.release(buffer);
}

std::vector<Seconds> CachedRegistration::find_again(Bytes size, int rounds) {
  const BufferHandle whole = registry_.allocate(size);
  register_buffer(whole);
  if (!is_registered_) {
    throw CalibrationFailed("register " + to_string(size) +
                            " as a user buffer: see the line above");
  }
  const std::span<std::byte> memory = registry_.segment(whole).value().buffer;
  std::vector<Seconds> times;
  for (int i = -1; i < rounds; ++i) {
    const BufferHandle half = registry_.add(memory.subspan(memory.size() / 2));
    const Seconds time = register_buffer(half);
    if (i >= 0) times.push_back(time);
    release(half);
  }
  release(whole);
  return times;
}

}  // namespace hoccl::hw
