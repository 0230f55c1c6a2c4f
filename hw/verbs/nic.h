#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "hw/nic/nic_choice.h"
#include "hw/verbs/nic_address.h"
#include "hw/verbs/verbs_options.h"
#include "hw/verbs/verbs_raii.h"

namespace hoccl::hw {

/// One port of an RDMA device, opened, with a completion queue that all of its queue pairs share.
/// One thread at a time, but wait descriptors and registration, which any thread may use.
class Nic {
 public:
  /// Throws ConfigError when the options do not fit the port, VerbsError when it cannot be opened.
  Nic(const NicPort& port, const VerbsOptions& options);

  [[nodiscard]] const std::string& name() const { return name_; }
  /// With the MTU that the port has now: it may be changed while the job runs.
  [[nodiscard]] NicAddress address() const;
  [[nodiscard]] int gid_index() const { return gid_index_; }
  [[nodiscard]] std::uint8_t port() const { return port_; }
  [[nodiscard]] ibv_pd* domain() const { return domain_.get(); }
  [[nodiscard]] ibv_cq* completion_queue() const { return completions_.get(); }

  /// Makes room for the completions of one more queue pair. Throws VerbsError.
  void reserve_completions(int count);
  void release_completions(int count) { reserved_ -= count; }
  /// Takes at most as many as there is room for.
  [[nodiscard]] std::span<ibv_wc> poll(std::span<ibv_wc> out);
  /// The next completion makes wait_descriptor() readable.
  void arm();
  [[nodiscard]] int wait_descriptor() const { return channel_->fd; }
  /// Takes what made it readable. Of the waiting thread.
  void take_events();
  /// What has happened to the port or a queue pair outside of completions, in words; empty:
  /// nothing. Its descriptor is event_descriptor().
  std::string take_port_event();
  [[nodiscard]] int event_descriptor() const { return context_->async_fd; }

 private:
  std::string name_;
  std::uint8_t port_ = 1;
  ContextHandle context_;
  DomainHandle domain_;
  CompletionChannelHandle channel_;
  CompletionQueueHandle completions_;
  NicAddress address_;
  int gid_index_ = 0;
  int reserved_ = 0;
};

/// 4096 for IBV_MTU_4096, ... and back; 0 when it is none.
std::uint32_t mtu_bytes(ibv_mtu mtu);
ibv_mtu mtu_of(std::uint32_t bytes);

}  // namespace hoccl::hw
