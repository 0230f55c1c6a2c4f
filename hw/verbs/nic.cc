#include "hw/verbs/nic.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "engine/base/check.h"
#include "engine/base/config_error.h"
#include "hw/nic/gid_choice.h"
#include "hw/nic/read_rdma_devices.h"
#include "hw/verbs/verbs_error.h"

namespace hoccl::hw {

using engine::ConfigError;

namespace {

constexpr std::array kMtus = {IBV_MTU_256, IBV_MTU_512, IBV_MTU_1024, IBV_MTU_2048, IBV_MTU_4096};
/// What the queue has room for at first: it grows with the queue pairs.
constexpr int kFirstCompletions = 1024;

ContextHandle open_device(const std::string& name) {
  // A child of fork() must not take pages away from a NIC (kernels before 5.12). It fails only
  // where memory has been registered before, by somebody else.
  ::ibv_fork_init();
  int count = 0;
  ibv_device** list = ::ibv_get_device_list(&count);
  if (list == nullptr) throw VerbsError("list the RDMA devices", errno);
  ContextHandle context;
  int error = ENODEV;
  for (int i = 0; i < count; ++i) {
    if (name != ::ibv_get_device_name(list[i])) continue;
    context.reset(::ibv_open_device(list[i]));
    error = errno;
  }
  ::ibv_free_device_list(list);
  if (!context) {
    throw VerbsError(fmt::format("open the RDMA device {} (its user library is in Debian's package "
                                 "ibverbs-providers)",
                                 name),
                     error == 0 ? ENODEV : error);
  }
  return context;
}

int gid_index_of(const NicPort& wanted, const VerbsOptions& options) {
  for (const RdmaDevice& device : read_rdma_devices()) {
    if (device.name != wanted.device) continue;
    for (const RdmaPort& port : device.ports) {
      if (port.number == wanted.port) return choose_gid(device, port, options.gid_index);
    }
  }
  throw ConfigError(fmt::format("RDMA device {} port {} has gone", wanted.device, wanted.port));
}

void set_non_blocking(int descriptor, const std::string& name) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags < 0 || ::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) != 0) {
    throw VerbsError("wait for completions of " + name, errno);
  }
}

}  // namespace

std::uint32_t mtu_bytes(ibv_mtu mtu) {
  const auto entry = std::ranges::find(kMtus, mtu);
  return entry == kMtus.end() ? 0 : 256U << (entry - kMtus.begin());
}

ibv_mtu mtu_of(std::uint32_t bytes) {
  for (const ibv_mtu mtu : kMtus) {
    if (mtu_bytes(mtu) == bytes) return mtu;
  }
  return ibv_mtu{};
}

Nic::Nic(const NicPort& port, const VerbsOptions& options)
    : name_(port.device),
      port_(static_cast<std::uint8_t>(port.port)),
      context_(open_device(port.device)) {
  ibv_port_attr attributes{};
  if (const int error = ::ibv_query_port(context_.get(), port_, &attributes); error != 0) {
    throw VerbsError(fmt::format("ask {} about its port {}", name_, port.port), error);
  }
  if (attributes.state != IBV_PORT_ACTIVE) {
    throw ConfigError(fmt::format(
        "port {} of {} is {}: expected an active port (is the cable in, the interface up?)",
        port.port, name_, ::ibv_port_state_str(attributes.state)));
  }
  address_.lid = attributes.lid;
  address_.is_infiniband = attributes.link_layer == IBV_LINK_LAYER_INFINIBAND ? 1 : 0;
  address_.mtu_bytes = mtu_bytes(attributes.active_mtu);
  if (options.mtu_bytes && *options.mtu_bytes > static_cast<int>(address_.mtu_bytes)) {
    throw ConfigError(fmt::format(
        "rdma-mtu = {}: port {} of {} has an active MTU of {}; expected no more (or raise the "
        "interface's MTU)",
        *options.mtu_bytes, port.port, name_, address_.mtu_bytes));
  }
  gid_index_ = gid_index_of(port, options);
  ibv_gid gid{};
  if (::ibv_query_gid(context_.get(), port_, gid_index_, &gid) != 0) {
    throw VerbsError(fmt::format("read GID {} of {}", gid_index_, name_), errno);
  }
  std::memcpy(address_.gid.data(), &gid, sizeof gid);
  domain_.reset(::ibv_alloc_pd(context_.get()));
  if (!domain_) throw VerbsError("make a protection domain on " + name_, errno);
  channel_.reset(::ibv_create_comp_channel(context_.get()));
  if (!channel_) throw VerbsError("make a completion channel on " + name_, errno);
  set_non_blocking(channel_->fd, name_);
  set_non_blocking(context_->async_fd, name_);
  completions_.reset(
      ::ibv_create_cq(context_.get(), kFirstCompletions, nullptr, channel_.get(), 0));
  if (!completions_) throw VerbsError("make a completion queue on " + name_, errno);
}

NicAddress Nic::address() const {
  NicAddress address = address_;
  ibv_port_attr attributes{};
  if (::ibv_query_port(context_.get(), port_, &attributes) == 0) {
    address.mtu_bytes = mtu_bytes(attributes.active_mtu);
  }
  return address;
}

void Nic::reserve_completions(int count) {
  reserved_ += count;
  if (reserved_ <= completions_->cqe) return;
  const int wanted = std::max(reserved_, 2 * completions_->cqe);
  if (const int error = ::ibv_resize_cq(completions_.get(), wanted); error != 0) {
    reserved_ -= count;
    throw VerbsError(fmt::format("make room for {} completions on {}", wanted, name_), error);
  }
}

std::span<ibv_wc> Nic::poll(std::span<ibv_wc> out) {
  const int count = ::ibv_poll_cq(completions_.get(), static_cast<int>(out.size()), out.data());
  HOCCL_CHECK(count >= 0, "the completion queue of {} cannot be read: {}", name_, count);
  return out.first(static_cast<std::size_t>(count));
}

void Nic::arm() {
  const int error = ::ibv_req_notify_cq(completions_.get(), 0);
  HOCCL_CHECK(error == 0, "the completion queue of {} cannot be armed: {}", name_, error);
}

void Nic::take_events() {
  ibv_cq* queue = nullptr;
  void* unused = nullptr;
  unsigned int count = 0;
  while (::ibv_get_cq_event(channel_.get(), &queue, &unused) == 0) ++count;
  if (count > 0) ::ibv_ack_cq_events(completions_.get(), count);
}

std::string Nic::take_port_event() {
  ibv_async_event event{};
  if (::ibv_get_async_event(context_.get(), &event) != 0) return {};
  const std::string words = fmt::format("{}: {}", name_, ::ibv_event_type_str(event.event_type));
  ::ibv_ack_async_event(&event);
  return words;
}

}  // namespace hoccl::hw
