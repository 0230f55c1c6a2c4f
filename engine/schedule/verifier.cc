#include "engine/schedule/verifier.h"

#include <fmt/format.h>

#include <optional>

#include "engine/base/config_error.h"
#include "engine/pattern/rooted.h"
#include "engine/pattern/traffic_matrix.h"
#include "engine/schedule/contention.h"
#include "engine/schedule/coverage.h"
#include "engine/schedule/delivery.h"
#include "engine/schedule/growth.h"
#include "engine/schedule/named_pattern.h"
#include "engine/schedule/path_check.h"
#include "engine/schedule/range_check.h"
#include "engine/schedule/violations.h"
#include "engine/schedule/wait_graph.h"

namespace hoccl::engine {
namespace {

void check_pattern(const Plan& plan, const Pattern& pattern, Violations& violations) {
  if (plan.pattern != pattern.name) {
    violations.add_plan("is of pattern '{}': expected '{}'", plan.pattern, pattern.name);
  }
  if (plan.message_size != pattern.message_size) {
    violations.add_plan("message of {} bytes: expected {}", plan.message_size.count(),
                        pattern.message_size.count());
  }
}

/// Whether a plan that says no more than its name may rightly move nothing: one rank in place,
/// ranks that keep what they have, a root whose share is all there is.
bool may_be_empty(const Plan& plan) {
  const bool shared_out = plan.pattern == kGatherName || plan.pattern == kScatterName;
  return plan.rank_count == 1 || plan.pattern == kAllToAllVName ||
         (shared_out && plan.message_size < Bytes(plan.rank_count));
}

/// Coverage, and what needs to know the flows too.
void check_flows(const Plan& plan, const Pattern* pattern, Violations& violations) {
  const std::vector<Delivery> deliveries = deliveries_of(plan);
  std::optional<Pattern> named;
  std::vector<Flow> implied;
  if (pattern == nullptr) {
    if (deliveries.empty() && plan.message_size > Bytes(0) && !may_be_empty(plan)) {
      violations.add_line(
          fmt::format("no transfer: the {} bytes of the message are never delivered",
                      plan.message_size.count()));
      return;
    }
    named = named_pattern(plan, deliveries);
    if (named) {
      pattern = &*named;
    } else {
      implied = implied_flows(deliveries);
    }
  }
  const std::vector<Flow>& flows = pattern != nullptr ? pattern->flows : implied;
  check_coverage(plan, deliveries, flows, violations);
  check_growth(plan, flows, violations);
}

/// The places whose slots a transfer needs.
void check_slots(const Plan& plan, const Topology& topology, const SlotSupply& slots,
                 Violations& violations) {
  for (const Transfer& transfer : plan.transfers) {
    if (transfer.route == Route::kDirect || transfer.route == Route::kRegistered) continue;
    if (plan.chunk_size > slots.slot_size) {
      violations.add(transfer, "chunk of {} bytes: expected at most {}, the slot size",
                     plan.chunk_size.count(), slots.slot_size.count());
    }
    const bool staged = transfer.route == Route::kStaged;
    if (slots.send_slots < 1) {
      violations.add(transfer, "{} send slots at place {}: expected at least 1", slots.send_slots,
                     staged ? topology.place_of(transfer.send_nic) : transfer.via);
    }
    if (staged && slots.receive_slots < 1) {
      violations.add(transfer, "{} receive slots at place {}: expected at least 1",
                     slots.receive_slots, topology.place_of(transfer.receive_nic));
    }
  }
}

void check_order(const Plan& plan, Violations& violations) {
  const std::vector<std::size_t> cycle = find_wait_cycle(plan);
  if (cycle.empty()) return;
  std::vector<FlowId> others;
  for (std::size_t k = 1; k < cycle.size(); ++k) others.push_back(plan.transfers[cycle[k]].id);
  violations.add(plan.transfers[cycle.front()], "waits for itself, through transfers {}",
                 fmt::join(others, ", "));
}

}  // namespace

std::vector<std::string> find_violations(const Plan& plan, const Pattern* pattern,
                                         const Topology& topology, const SlotSupply& slots) {
  Violations violations;
  check_ranges(plan, topology, violations);
  if (!violations.empty()) return violations.take();
  if (pattern != nullptr) check_pattern(plan, *pattern, violations);
  check_flows(plan, pattern, violations);
  check_paths(plan, topology, violations);
  check_slots(plan, topology, slots, violations);
  check_contention(plan, violations);
  check_order(plan, violations);
  return violations.take();
}

void verify(const Plan& plan, const Pattern* pattern, const Topology& topology,
            const SlotSupply& slots) {
  const std::vector<std::string> violations = find_violations(plan, pattern, topology, slots);
  if (violations.empty()) return;
  throw ConfigError(fmt::format(
      "plan of {} for '{}' is not valid: {}{}", plan.pattern, plan.topology, violations.front(),
      violations.size() == 1 ? "" : fmt::format(" (and {} more)", violations.size() - 1)));
}

}  // namespace hoccl::engine
