#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/topology/topology.h"
#include "hw/bootstrap/remote_mesh.h"
#include "hw/device/device.h"
#include "hw/fabric/hw_options.h"
#include "hw/fabric/make_link.h"
#include "hw/link/completion_waker.h"
#include "hw/link/inlets.h"
#include "hw/link/link.h"
#include "hw/link/link_context.h"
#include "hw/link/outlets.h"
#include "hw/link/user_buffers.h"
#include "hw/node/node.h"
#include "hw/trace/leg_trace.h"
#include "hw/verbs/registration.h"

namespace hoccl::hw {

/// RDMA: reliable connections between the NICs of different nodes, made when they are first used.
/// Payloads and what tells of them go over the same one; what it loses goes over another.
class VerbsLink final : public Link {
 public:
  /// Collective over all ranks of the job. Throws ConfigError, VerbsError or BootstrapError.
  VerbsLink(Bootstrap& bootstrap, const engine::Topology& topology, Node& node, Device& device,
            const HwOptions& options, LegTrace& trace, LinkEvents events);
  ~VerbsLink() override;

  engine::QueuePairId queue_pair(engine::NicId local, engine::NicId remote, engine::Rank peer,
                                 int index) override;
  engine::Ticket post_write(engine::QueuePairId queue_pair,
                            const engine::WriteRequest& request) override;
  void post_message(engine::Rank target, const engine::Message& message) override;
  std::optional<LinkEvent> poll() override;
  bool look() override;
  bool arm() override;
  void peer_lost(engine::Rank peer) override;
  bool expel(engine::Rank peer) override;
  [[nodiscard]] bool idle() const override;
  bool register_buffer(engine::BufferHandle buffer) override;
  bool import_buffer(engine::BufferHandle buffer) override;
  void release_buffer(engine::BufferHandle buffer) override;
  bool break_queue_pair(std::uint64_t index) override { return outlets_->break_one(index); }
  [[nodiscard]] std::string description() const override;

  /// Whether, and why not, the NICs can be given access to the GPU's memory.
  static std::string objection_to_gpu_memory(const HwOptions& options,
                                             const engine::Topology& topology, engine::Rank rank,
                                             Device& device);

 private:
  using Letter = std::pair<engine::Rank, std::string>;

  void open_nics(const HwOptions& options);
  void register_slots(Device& device);
  /// What this rank tells the others of itself: that it has no NIC, say, as well.
  std::string introduce(Device& device, const HwOptions& options);
  /// Throws on all ranks what is wrong on one.
  void exchange_introductions(Bootstrap& bootstrap, const std::string& own);
  void receive(engine::Rank sender, std::string_view frame);
  void take_letters(std::size_t most);
  void open_letter(engine::Rank sender, const ControlFrame& frame);
  void take_completions();
  void accuse_offenders();
  [[nodiscard]] Path serving(engine::NicId local, engine::NicId remote, engine::Rank peer) const;
  [[nodiscard]] std::optional<PayloadAddresses> locate(const engine::WriteRequest& request,
                                                       engine::Rank peer, const Path& path) const;

  const engine::Rank rank_;
  const engine::Topology& topology_;
  Node& node_;
  Device& device_;
  const VerbsOptions options_;
  const LinkEvents events_;
  std::vector<std::unique_ptr<Nic>> nics_;
  std::vector<std::uint32_t> serving_;  ///< by NIC of the topology's node: index among nics_
  std::map<engine::PlaceId, RegisteredMemory> send_slots_;
  std::map<engine::PlaceId, RegisteredMemory> receive_slots_;
  std::map<engine::Rank, LinkIntroduction> peers_;
  std::deque<LinkEvent> happened_;
  std::set<engine::Rank> expelled_;
  mutable std::mutex letters_mutex_;
  std::deque<Letter> letters_;
  std::unique_ptr<RemoteMesh> mesh_;
  std::optional<LinkContext> context_;
  std::optional<Outlets> outlets_;
  std::optional<Inlets> inlets_;
  std::optional<UserBuffers> user_buffers_;
  std::optional<CompletionWaker> waker_;
};

}  // namespace hoccl::hw
