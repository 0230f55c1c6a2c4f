#include "hw/link/verbs_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/config_error.h"
#include "hw/bootstrap/bootstrap_error.h"
#include "hw/nic/nic_choice.h"
#include "hw/nic/nvidia_gpus.h"
#include "hw/nic/read_rdma_devices.h"
#include "hw/system/monotonic_clock.h"
#include "hw/system/warning.h"

namespace hoccl::hw {

using engine::BufferHandle;
using engine::NicId;
using engine::PlaceId;
using engine::QueuePairId;
using engine::Rank;
using engine::Ticket;

namespace {

// What a rank says of itself when it starts; each is followed by text.
constexpr char kIntroduction = 'i';
constexpr char kBadInput = 'c';
constexpr char kFailure = 'f';

/// Taken from a completion queue at once.
constexpr std::size_t kBatch = 32;

/// Read at once: to connect a queue pair takes long where a neighbour does not answer (1 s was
/// seen), and other rails must go on meanwhile.
constexpr std::size_t kLettersAtOnce = 4;

/// Where the GPU next to each NIC of a node is on the PCI bus, as far as is known.
std::vector<std::string> gpu_paths(const engine::Topology& topology, engine::NodeId node,
                                   const HwOptions& options) {
  std::vector<std::string> paths;
  if (options.copy != CopyKind::kCuda) return paths;
  const std::vector<std::string> bus_ids = gpu_bus_ids();
  for (const NicId nic : topology.nics_of(node)) {
    const auto index = static_cast<std::size_t>(topology.gpu(topology.nic(nic).gpu).index);
    const std::size_t number =
        index < options.devices.size() ? static_cast<std::size_t>(options.devices[index]) : index;
    paths.push_back(number < bus_ids.size() ? pci_path_at(bus_ids[number]) : std::string());
  }
  return paths;
}

/// By NIC of the rank's node.
std::vector<NicPort> ports_of(const engine::Topology& topology, Rank rank,
                              const HwOptions& options) {
  const engine::NodeId node = topology.node_of(rank);
  return choose_nics(options.verbs.devices, node.value(),
                     static_cast<int>(topology.nics_of(node).size()), read_rdma_devices(),
                     gpu_paths(topology, node, options));
}

std::vector<Rank> ranks_elsewhere(const Bootstrap& bootstrap, const Node& node) {
  std::vector<Rank> ranks;
  for (int rank = 0; rank < bootstrap.size(); ++rank) {
    if (!node.is_member(Rank(rank))) ranks.emplace_back(rank);
  }
  return ranks;
}

}  // namespace

VerbsLink::VerbsLink(Bootstrap& bootstrap, const engine::Topology& topology, Node& node,
                     Device& device, const HwOptions& options, LegTrace& trace, LinkEvents events)
    : rank_(bootstrap.rank()),
      topology_(topology),
      node_(node),
      device_(device),
      options_(options.verbs),
      events_(std::move(events)) {
  exchange_introductions(bootstrap, introduce(device, options));
  mesh_ = std::make_unique<RemoteMesh>(bootstrap, ranks_elsewhere(bootstrap, node));
  context_.emplace(LinkContext{rank_, options_, nics_, *mesh_, peers_, happened_});
  outlets_.emplace(*context_, trace,
                   [this](const engine::WriteRequest& request, Rank peer, const Path& path) {
                     return locate(request, peer, path);
                   });
  inlets_.emplace(*context_);
  user_buffers_.emplace(
      *context_, node.buffers(),
      [&device](std::span<const std::byte> memory) { return device.dma_buf_export(memory); },
      [this](const engine::Completion& completion) {
        events_.completed(completion);
        node_.doorbell().ring();
      });
  waker_.emplace(nics_, node.doorbell());
  mesh_->start([this](Rank sender, std::string_view frame) { receive(sender, frame); },
               [this](Rank peer, bool died) {
                 events_.lost(peer, died);
                 node_.doorbell().ring();
               });
}

std::string VerbsLink::objection_to_gpu_memory(const HwOptions& options,
                                               const engine::Topology& topology, Rank rank,
                                               Device& device) {
  constexpr engine::Bytes kProbe(2 << 20);  // a page of a GPU
  std::vector<std::unique_ptr<Nic>> nics;
  try {
    nics.push_back(std::make_unique<Nic>(ports_of(topology, rank, options).front(), options.verbs));
    const std::shared_ptr<MemoryBlock> block = device.allocate("hoccl-registration-probe", kProbe);
    const std::span memory(block->data(), static_cast<std::size_t>(kProbe.count()));
    const RegisteredMemory probe(nics, memory, RemoteAccess::kWrite, options.verbs.relaxed_ordering,
                                 device.dma_buf_export(memory));
    return {};
  } catch (const engine::ConfigError& error) {
    return error.what();  // the link says it again, to all ranks
  } catch (const VerbsError& error) {
    return error.what();
  }
}

VerbsLink::~VerbsLink() {
  // First the threads that use the rest: user_buffers_ and waker_ after it end with the members.
  mesh_.reset();
}

void VerbsLink::open_nics(const HwOptions& options) {
  std::vector<NicPort> opened;
  for (const NicPort& port : ports_of(topology_, rank_, options)) {
    auto entry = std::ranges::find(opened, port);
    if (entry == opened.end()) {
      opened.push_back(port);
      entry = opened.end() - 1;
      nics_.push_back(std::make_unique<Nic>(port, options_));
    }
    serving_.push_back(static_cast<std::uint32_t>(entry - opened.begin()));
  }
  if (nics_.size() > kMaxNics) {
    throw engine::ConfigError(fmt::format("rdma-devices = '{}': {} ports; expected at most {}",
                                          options_.devices, nics_.size(), kMaxNics));
  }
}

void VerbsLink::register_slots(Device& device) {
  for (const PlaceId place : node_.staging().own_places()) {
    const auto export_gpu = [&](std::span<std::byte> memory) {
      return node_.staging().is_on_gpu(place) ? device.dma_buf_export(memory) : DmaBufExport();
    };
    const std::span<std::byte> send = node_.staging().slot_memory(place, false);
    const std::span<std::byte> receive = node_.staging().slot_memory(place, true);
    // Peers can write into receive slots, and nowhere else.
    send_slots_.emplace(place, RegisteredMemory(nics_, send, RemoteAccess::kNone,
                                                options_.relaxed_ordering, export_gpu(send)));
    receive_slots_.emplace(place, RegisteredMemory(nics_, receive, RemoteAccess::kWrite,
                                                   options_.relaxed_ordering, export_gpu(receive)));
  }
}

std::string VerbsLink::introduce(Device& device, const HwOptions& options) {
  try {
    open_nics(options);
    register_slots(device);
  } catch (const engine::ConfigError& error) {
    return std::string(1, kBadInput).append(error.what());
  } catch (const VerbsError& error) {
    return std::string(1, kFailure).append(error.what());
  }
  LinkIntroduction own;
  for (const auto& nic : nics_) own.nics.push_back(nic->address());
  own.serving = serving_;
  for (const auto& [place, memory] : receive_slots_) {
    LinkIntroduction::Place& sent = own.places.emplace_back();
    sent.place = place;
    sent.address = memory.address();
    for (std::size_t nic = 0; nic < nics_.size(); ++nic) sent.keys.at(nic) = memory.remote_key(nic);
  }
  return std::string(1, kIntroduction).append(encode(own));
}

void VerbsLink::exchange_introductions(Bootstrap& bootstrap, const std::string& own) {
  const std::vector<std::string> all = bootstrap.all_gather(own);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].starts_with(kIntroduction)) continue;
    const std::string why = fmt::format("rank {}: {}", rank, all[rank].substr(1));
    if (all[rank].starts_with(kBadInput)) throw engine::ConfigError(why);
    throw BootstrapError(why);
  }
  for (const Rank peer : ranks_elsewhere(bootstrap, node_)) {
    std::optional<LinkIntroduction> introduction =
        decode_introduction(std::string_view(all[peer.index()]).substr(1));
    const auto wanted = topology_.nics_of(topology_.node_of(peer)).size();
    if (!introduction || introduction->serving.size() != wanted) {
      throw BootstrapError(
          fmt::format("rank {} introduces its NICs in words of no verbs link", peer));
    }
    for (const LinkIntroduction::Place& place : introduction->places) {
      if (place.place.index() >= static_cast<std::size_t>(topology_.place_count()) ||
          topology_.host_of(place.place) != peer) {
        throw BootstrapError(fmt::format(
            "rank {} introduces slots of place {}, which it does not host", peer, place.place));
      }
    }
    for (int i = 0; i < topology_.place_count(); ++i) {
      const bool is_there =
          topology_.host_of(PlaceId(i)) != peer ||
          std::ranges::find(introduction->places, PlaceId(i), &LinkIntroduction::Place::place) !=
              introduction->places.end();
      if (is_there) continue;
      throw BootstrapError(
          fmt::format("rank {} does not introduce the slots of place {}", peer, i));
    }
    peers_.emplace(peer, std::move(*introduction));
  }
}

std::string VerbsLink::description() const {
  std::vector<std::string> names;
  for (const auto& nic : nics_) {
    names.push_back(fmt::format("{} port {} GID {} ({})", nic->name(), nic->port(),
                                nic->gid_index(), to_string(nic->address().gid)));
  }
  std::set<std::string_view> ways;
  for (const auto& [place, memory] : send_slots_) ways.insert(to_string(memory.path()));
  return fmt::format(
      "{}; slots in {}", fmt::join(names, ", "),
      ways.empty() ? "no memory of this rank" : fmt::format("{}", fmt::join(ways, ", ")));
}

Path VerbsLink::serving(NicId local, NicId remote, Rank peer) const {
  const auto index_of = [this](NicId nic) {
    const auto nics = topology_.nics_of(topology_.nic(nic).node);
    return static_cast<std::size_t>(std::ranges::find(nics, nic) - nics.begin());
  };
  const auto entry = peers_.find(peer);
  HOCCL_CHECK(entry != peers_.end(), "a queue pair to rank {}, which is on the same node", peer);
  return {serving_.at(index_of(local)), entry->second.serving.at(index_of(remote))};
}

QueuePairId VerbsLink::queue_pair(NicId local, NicId remote, Rank peer, int index) {
  return QueuePairId(static_cast<std::int32_t>(
      outlets_->open(local, remote, serving(local, remote, peer), peer, index)));
}

Ticket VerbsLink::post_write(QueuePairId queue_pair, const engine::WriteRequest& request) {
  HOCCL_CHECK(request.local.size == request.remote.size && request.local.size.count() > 0,
              "write of {} bytes to a region of {}", request.local.size.count(),
              request.remote.size.count());
  return outlets_->post_write(static_cast<std::uint32_t>(queue_pair.value()), request);
}

void VerbsLink::post_message(Rank target, const engine::Message& message) {
  // Along the sender's own rail, if the peer has it.
  const auto own = static_cast<std::size_t>(topology_.gpu(topology_.gpu_of(rank_)).index);
  const std::vector<std::uint32_t>& theirs = peers_.at(target).serving;
  outlets_->post_message(target, {serving_[own % serving_.size()], theirs[own % theirs.size()]},
                         message);
}

std::optional<PayloadAddresses> VerbsLink::locate(const engine::WriteRequest& request, Rank peer,
                                                  const Path& path) const {
  const StagingService& staging = node_.staging();
  if (!staging.is_slot(request.local.buffer)) {
    const auto from = user_buffers_->local(request.local, path.own);
    const auto to = user_buffers_->remote(request.remote, path.peer);
    if (!from || !to) return std::nullopt;
    return PayloadAddresses{*from, *to};
  }
  const RegisteredMemory& slots = send_slots_.at(staging.place_of(request.local));
  const PlaceId place = staging.place_of(request.remote);
  const auto& places = peers_.at(peer).places;
  const auto target = std::ranges::find(places, place, &LinkIntroduction::Place::place);
  HOCCL_CHECK(target != places.end(), "a write to place {}, which rank {} does not host", place,
              peer);
  return PayloadAddresses{slots.local(path.own, staging.bytes(request.local)),
                          {target->address + staging.offset_in_slot_memory(request.remote),
                           target->keys.at(path.peer)}};
}

void VerbsLink::receive(Rank sender, std::string_view frame) {
  {
    const std::scoped_lock lock(letters_mutex_);
    letters_.emplace_back(sender, frame);
  }
  node_.doorbell().ring();
}

void VerbsLink::take_letters(std::size_t most) {
  for (std::size_t taken = 0; taken < most; ++taken) {
    Letter letter;
    {
      const std::scoped_lock lock(letters_mutex_);
      if (letters_.empty()) return;
      letter = std::move(letters_.front());
      letters_.pop_front();
    }
    const auto& [sender, bytes] = letter;
    if (expelled_.contains(sender)) continue;
    const FrameLimits limits{static_cast<std::uint32_t>(peers_.at(sender).nics.size()),
                             static_cast<std::uint32_t>(nics_.size())};
    if (const auto frame = decode_control_frame(bytes, limits)) {
      open_letter(sender, *frame);
    } else {
      warn(fmt::format("hoccl: rank {}: rank {} sends what no verbs link sends\n", rank_, sender));
      expel(sender);
    }
  }
}

namespace {

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};

}  // namespace

void VerbsLink::open_letter(Rank sender, const ControlFrame& frame) {
  std::visit(Overloaded{
                 [&](const ConnectFrame& of) { inlets_->connect(sender, of); },
                 [&](const CloseFrame& of) { inlets_->close(sender, of); },
                 [&](const ItemFrame& of) { inlets_->take(sender, of); },
                 [&](const AcceptFrame& of) { outlets_->accepted(sender, of); },
                 [&](const RefuseFrame& of) { outlets_->refused(sender, of); },
                 [&](const ClosedFrame& of) { outlets_->closed(sender, of); },
                 [&](const BrokenFrame& of) { outlets_->broken(sender, of); },
                 [&](const ImportFrame& of) { user_buffers_->answer(sender, of); },
                 [&](const ImportedFrame& of) { user_buffers_->imported(sender, of); },
             },
             frame);
}

void VerbsLink::take_completions() {
  std::array<ibv_wc, kBatch> room;
  for (const auto& nic : nics_) {
    while (true) {
      const std::span<ibv_wc> completions = nic->poll(room);
      if (!completions.empty()) device_.make_rdma_writes_visible();
      for (const ibv_wc& completion : completions) {
        const auto role = CompletionTag::unpack(completion.wr_id).role;
        if (role == CompletionTag::Role::kReceive) {
          inlets_->complete(completion);
        } else {
          outlets_->complete(completion);
        }
      }
      if (completions.size() < kBatch) break;
    }
  }
}

void VerbsLink::accuse_offenders() {
  auto offenders = outlets_->take_offenders();
  for (auto& offender : inlets_->take_offenders()) offenders.push_back(std::move(offender));
  for (const auto& [peer, what] : offenders) {
    if (expelled_.contains(peer)) continue;
    warn(fmt::format("hoccl: rank {}: rank {}: {}\n", rank_, peer, what));
    expel(peer);
  }
}

bool VerbsLink::look() {
  take_completions();
  take_letters(kLettersAtOnce);
  const engine::Seconds now = monotonic_now();
  inlets_->tick(now);
  const auto deadline = outlets_->next_deadline();
  if (deadline && *deadline <= now) outlets_->tick(now);
  waker_->ring_at_intervals(inlets_->must_tick() || deadline.has_value());
  accuse_offenders();
  return !happened_.empty();
}

bool VerbsLink::arm() {
  for (const auto& nic : nics_) nic->arm();
  return look();
}

std::optional<LinkEvent> VerbsLink::poll() {
  if (happened_.empty() && !look()) return std::nullopt;
  LinkEvent event = happened_.front();
  happened_.pop_front();
  return event;
}

void VerbsLink::peer_lost(Rank peer) {
  if (!peers_.contains(peer)) return;
  // What it has said before comes before the news.
  take_completions();
  take_letters(std::numeric_limits<std::size_t>::max());
  expelled_.insert(peer);
  outlets_->lose(peer);
  user_buffers_->lose(peer);
  inlets_->lose(peer);
}

bool VerbsLink::expel(Rank peer) {
  if (!peers_.contains(peer)) return false;
  // The mesh then reports the loss, and peer_lost() does the rest: not from within what found out.
  expelled_.insert(peer);
  mesh_->cut(peer);
  return true;
}

bool VerbsLink::idle() const {
  const std::scoped_lock lock(letters_mutex_);
  return letters_.empty() && outlets_->idle() && user_buffers_->idle();
}

bool VerbsLink::register_buffer(BufferHandle buffer) {
  user_buffers_->register_buffer(buffer);
  return true;
}

bool VerbsLink::import_buffer(BufferHandle buffer) {
  if (!peers_.contains(buffer.owner)) return false;
  user_buffers_->import_buffer(buffer);
  return true;
}

void VerbsLink::release_buffer(BufferHandle buffer) { user_buffers_->release(buffer); }

}  // namespace hoccl::hw
