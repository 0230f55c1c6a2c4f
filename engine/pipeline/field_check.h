#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "engine/fabric.h"
#include "engine/pipeline/messages.h"
#include "engine/schedule/verifier.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

/// Part of the message check: looks at fields one by one and keeps the first that is wrong. Checks
/// that come after one that failed do nothing, so that they may index by what was found in range.
class FieldCheck {
 public:
  /// `name` is what the message is called in found().
  FieldCheck(std::string_view name, Rank sender, Rank receiver, const Topology& topology,
             const SlotSupply& slots);

  [[nodiscard]] bool ok() const { return found_.empty(); }
  /// "NAME: FIELD = VALUE: expected ...", or empty.
  [[nodiscard]] const std::string& found() const { return found_; }

  [[nodiscard]] Rank sender() const { return sender_; }
  [[nodiscard]] Rank receiver() const { return receiver_; }
  [[nodiscard]] const Topology& topology() const { return topology_; }

  /// `expected` and its arguments are formatted only when `right` is false.
  template <class Value, class... Args>
  void expect(bool right, std::string_view field, const Value& value,
              fmt::format_string<Args...> expected, Args&&... args) {
    if (right || !ok()) return;
    found_ = fmt::format("{}: {} = {}: expected {}", name_, field, value,
                         fmt::format(expected, std::forward<Args>(args)...));
  }
  template <class Value, class Low, class High>
  void expect_within(std::string_view field, Value value, Low low, High high) {
    const bool right = std::cmp_greater_equal(value, low) && std::cmp_less_equal(value, high);
    expect(right, field, value, "{} to {}", low, high);
  }

  void check_rank(std::string_view field, Rank rank);
  void check_nic(std::string_view field, NicId nic);
  void check_flow(std::int64_t flow);
  void check_operation(const OperationId& operation);
  /// The ends of the operation, if it has two.
  void check_ends(const OperationId& operation, Rank source, Rank target);
  /// A slot of a place that `host` hosts.
  void check_send_slot(const SlotReference& slot, Rank host);
  void check_receive_slot(const SlotReference& slot, Rank host);
  /// A pair of NICs that chunks may cross between.
  void check_nics(NicId send, NicId receive);
  void check_host(std::string_view field, NicId nic, Rank host);
  void check_same_node();
  /// What all chunks have, wherever they are.
  void check_chunk(const Descriptor& descriptor, MessageKind kind);
  /// Bits of ranks that the node has, and at least one.
  void check_local_targets(const std::array<std::uint32_t, 3>& local_targets, NodeId node);
  /// One that `host` hosts.
  void check_place(PlaceId place, Rank host);

 private:
  void check_slot(const SlotReference& slot, std::int32_t count, Rank host);

  std::string_view name_;
  Rank sender_;
  Rank receiver_;
  const Topology& topology_;
  const SlotSupply& slots_;
  std::string found_;
};

/// Whether a chunk is for this rank of the receiving node.
bool is_local_target(const std::array<std::uint32_t, 3>& local_targets, int local_index);

}  // namespace hoccl::engine
