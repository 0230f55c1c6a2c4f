#include "hw/calibrate/registration_bench.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cstddef>
#include <memory>
#include <span>

#include "hw/calibrate/cached_registration.h"
#include "hw/nic/nic_choice.h"
#include "hw/nic/read_rdma_devices.h"
#include "hw/system/monotonic_clock.h"
#include "hw/system/system_error.h"
#include "hw/verbs/nic.h"
#include "hw/verbs/registration.h"

namespace hoccl::hw {

using engine::Bytes;
using engine::Seconds;

namespace {

using Nics = std::vector<std::unique_ptr<Nic>>;

/// Private memory without pages: the kernel finds them when it is first touched.
class FreshMemory {
 public:
  explicit FreshMemory(Bytes size) : size_(static_cast<std::size_t>(size.count())) {
    void* mapped =
        ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw SystemError("map " + to_string(size) + " of memory");
    data_ = static_cast<std::byte*>(mapped);
  }
  ~FreshMemory() { ::munmap(data_, size_); }
  FreshMemory(const FreshMemory&) = delete;
  FreshMemory& operator=(const FreshMemory&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_;
};

template <class Action>
Seconds time_of(Action action) {
  const Seconds begin = monotonic_now();
  action();
  return monotonic_now() - begin;
}

struct Round {
  Seconds first_touch;
  Seconds again;
  Seconds deregister;
};

Round measure_round(const Nics& nics, const VerbsOptions& options, Bytes size) {
  const FreshMemory memory(size);
  RegisteredMemory registered;
  const auto register_it = [&] {
    registered =
        RegisteredMemory(nics, memory.bytes(), RemoteAccess::kWrite, options.relaxed_ordering);
  };
  const auto deregister_it = [&] { registered = RegisteredMemory(); };
  Round round{};
  round.first_touch = time_of(register_it);
  deregister_it();
  round.again = time_of(register_it);
  round.deregister = time_of(deregister_it);
  return round;
}

}  // namespace

Samples measure_with_verbs(const RegistrationRequest& request, const Progress& progress) {
  const VerbsOptions options;
  Nics nics;
  for (const NicPort& port : choose_nics(request.device, 0, 1, read_rdma_devices(), {})) {
    nics.push_back(std::make_unique<Nic>(port, options));
  }
  CachedRegistration cached(nics, options);
  Samples samples;
  for (Bytes size = request.begin; size <= request.end; size = size * 2) {
    const auto add = [&](const char* what, Seconds time) {
      samples.add({.measurement = what, .subject = request.device, .size = size}, time);
    };
    measure_round(nics, options, size);  // not counted: pages may be new to a virtual machine
    for (int i = 0; i < request.rounds; ++i) {
      const Round round = measure_round(nics, options, size);
      add(kFirstTouch, round.first_touch);
      add(kAgain, round.again);
      add(kDeregister, round.deregister);
    }
    for (const Seconds time : cached.find_again(size, request.rounds)) add(kCached, time);
    progress(to_string(size));
  }
  return samples;
}

}  // namespace hoccl::hw
