#include "engine/schedule/verifier.h"

#include <fmt/format.h>

#include <map>
#include <tuple>
#include <utility>

#include "engine/base/config_error.h"
#include "engine/schedule/coverage.h"
#include "engine/schedule/wait_graph.h"

namespace hoccl::engine {
namespace {

class Verifier {
 public:
  Verifier(const Plan& plan, const Topology& topology, const SlotSupply& slots,
           std::vector<std::string>& violations)
      : plan_(plan), topology_(topology), slots_(slots), violations_(violations) {}

  /// Later checks index by what this one has found in range.
  void check_ranges();
  void check_pattern(const Pattern& pattern);
  void check_paths();
  void check_slots();
  void check_stages();
  void check_order();
  void check_length();

 private:
  using Index = std::size_t;

  template <class... Args>
  void report(Index transfer, fmt::format_string<Args...> text, Args&&... args) {
    violations_.push_back(
        fmt::format("transfer {}: {}", transfer, fmt::format(text, std::forward<Args>(args)...)));
  }
  template <class... Args>
  void report_plan(fmt::format_string<Args...> text, Args&&... args) {
    violations_.push_back(fmt::format("plan: {}", fmt::format(text, std::forward<Args>(args)...)));
  }

  void check_values(Index i);
  void check_nic_values(Index i);
  void check_more_targets(Index i);
  void check_direct_path(Index i);
  void check_staged_path(Index i);
  void check_staging_place(Index i, NicId nic, Rank end_point, std::string_view leg);

  const Plan& plan_;
  const Topology& topology_;
  const SlotSupply& slots_;
  std::vector<std::string>& violations_;
};

void Verifier::check_ranges() {
  if (plan_.rank_count != topology_.rank_count()) {
    report_plan("has {} ranks: expected {}, as on topology '{}'", plan_.rank_count,
                topology_.rank_count(), topology_.name());
  }
  if (plan_.message_size < Bytes(0) || plan_.message_size > kMaxMessageSize) {
    report_plan("message of {} bytes: expected 0 to {}", plan_.message_size.count(),
                kMaxMessageSize.count());
  }
  if (plan_.chunk_size < Bytes(1) || plan_.chunk_size > kMaxChunkSize) {
    report_plan("chunk of {} bytes: expected 1 to {}", plan_.chunk_size.count(),
                kMaxChunkSize.count());
  }
  for (Index i = 0; i < plan_.transfers.size(); ++i) {
    check_values(i);
    check_nic_values(i);
    check_more_targets(i);
  }
}

void Verifier::check_values(Index i) {
  const Transfer& transfer = plan_.transfers[i];
  for (const auto& [end, rank] :
       {std::pair("source", transfer.source), std::pair("target", transfer.target)}) {
    if (rank.value() < 0 || rank.value() >= topology_.rank_count()) {
      report(i, "{} rank {}: expected 0 to {}", end, rank, topology_.rank_count() - 1);
    }
  }
  for (const auto& [end, offset] :
       {std::pair("source", transfer.source_offset), std::pair("target", transfer.target_offset)}) {
    if (offset < Bytes(0) || offset > kMaxMessageSize) {
      report(i, "{} offset {}: expected 0 to {}", end, offset.count(), kMaxMessageSize.count());
    }
  }
  if (transfer.size < Bytes(1) || transfer.size > kMaxMessageSize) {
    report(i, "size {}: expected 1 to {}", transfer.size.count(), kMaxMessageSize.count());
    return;
  }
  if (plan_.chunk_size >= Bytes(1) &&
      chunks_of(transfer, plan_.chunk_size) > kMaxChunksPerTransfer) {
    report(i, "{} chunks: expected at most {}", chunks_of(transfer, plan_.chunk_size),
           kMaxChunksPerTransfer);
  }
}

void Verifier::check_nic_values(Index i) {
  const Transfer& transfer = plan_.transfers[i];
  for (const auto& [use, nic] :
       {std::pair("send", transfer.send_nic), std::pair("receive", transfer.receive_nic)}) {
    switch (transfer.route) {
      case Route::kDirect:
      case Route::kRelayed:
        if (!nic.is_none()) report(i, "direct, with {} NIC {}: expected none", use, nic);
        break;
      case Route::kStaged:
        if (nic.value() < 0 || nic.value() >= topology_.nic_count()) {
          report(i, "{} NIC {}: expected 0 to {}", use, nic, topology_.nic_count() - 1);
        }
        break;
    }
  }
  if (transfer.stage < 0 || transfer.stage > kMaxStage) {
    report(i, "stage {}: expected 0 to {}", transfer.stage, kMaxStage);
  }
}

void Verifier::check_more_targets(Index i) {
  const Transfer& transfer = plan_.transfers[i];
  if (transfer.more_targets.empty()) return;
  if (transfer.route == Route::kDirect) {
    report(i, "direct, with {} more target(s): expected none", transfer.more_targets.size());
  }
  Rank before = Rank::none();
  for (const Rank rank : transfer.more_targets) {
    if (rank.value() < 0 || rank.value() >= topology_.rank_count()) {
      report(i, "further target rank {}: expected 0 to {}", rank, topology_.rank_count() - 1);
    } else if (rank <= before) {
      report(i, "further target rank {} after rank {}: expected ascending ranks, each once", rank,
             before);
    } else if (rank == transfer.target) {
      report(i, "further target rank {}: expected another rank than the target", rank);
    } else if (rank == transfer.source) {
      report(i, "further target rank {}: expected another rank than the source", rank);
    }
    before = rank;
  }
}

void Verifier::check_pattern(const Pattern& pattern) {
  if (plan_.pattern != pattern.name) {
    report_plan("is of pattern '{}': expected '{}'", plan_.pattern, pattern.name);
  }
  if (plan_.message_size != pattern.message_size) {
    report_plan("message of {} bytes: expected {}", plan_.message_size.count(),
                pattern.message_size.count());
  }
}

void Verifier::check_paths() {
  for (Index i = 0; i < plan_.transfers.size(); ++i) {
    switch (plan_.transfers[i].route) {
      case Route::kDirect:
      case Route::kRelayed:
        check_direct_path(i);
        break;
      case Route::kStaged:
        check_staged_path(i);
        break;
    }
  }
}

void Verifier::check_direct_path(Index i) {
  const Transfer& transfer = plan_.transfers[i];
  const Gpu& source = topology_.gpu(topology_.gpu_of(transfer.source));
  const Gpu& target = topology_.gpu(topology_.gpu_of(transfer.target));
  if (source.physical == target.physical) {
    report(i, "copies within GPU {}, from rank {} to rank {}", source.physical, transfer.source,
           transfer.target);
  } else if (source.node != target.node) {
    report(i, "direct from node {} to node {}: expected the staged route", source.node,
           target.node);
  }
}

void Verifier::check_staged_path(Index i) {
  const Transfer& transfer = plan_.transfers[i];
  const NodeId source = topology_.node_of(transfer.source);
  const NodeId target = topology_.node_of(transfer.target);
  if (source == target) report(i, "staged inside node {}: expected the direct route", source);
  for (const auto& [use, nic, rank] :
       {std::tuple("send", transfer.send_nic, transfer.source),
        std::tuple("receive", transfer.receive_nic, transfer.target)}) {
    const NodeId node = topology_.nic(nic).node;
    if (node != topology_.node_of(rank)) {
      report(i, "{} NIC {} is on node {}: expected node {}, that of rank {}", use, nic, node,
             topology_.node_of(rank), rank);
    }
  }
  check_staging_place(i, transfer.send_nic, transfer.source, "stage-in");
  for (const Rank further : transfer.more_targets) {
    if (topology_.node_of(further) != target) {
      report(i, "further target rank {} is on node {}: expected node {}, that of rank {}", further,
             topology_.node_of(further), target, transfer.target);
    }
  }
  for (const Rank each : targets_of(transfer)) {
    check_staging_place(i, transfer.receive_nic, each, "deliver");
  }
}

void Verifier::check_staging_place(Index i, NicId nic, Rank end_point, std::string_view leg) {
  const PlaceId place = topology_.place_of(nic);
  if (!topology_.is_host(place)) {
    const int stager = topology_.gpu(topology_.gpu_of(place)).physical;
    if (stager == topology_.gpu(topology_.gpu_of(end_point)).physical) {
      report(i, "{} copies within GPU {}, where NIC {} has its slots and rank {} its data", leg,
             stager, nic, end_point);
    }
  }
  if (topology_.host_of(place).is_none()) {
    report(i, "no rank serves place {}, the slots of NIC {}", place, nic);
  }
}

void Verifier::check_slots() {
  for (Index i = 0; i < plan_.transfers.size(); ++i) {
    const Transfer& transfer = plan_.transfers[i];
    if (transfer.route != Route::kStaged) continue;
    if (plan_.chunk_size > slots_.slot_size) {
      report(i, "chunk of {} bytes: expected at most {}, the slot size", plan_.chunk_size.count(),
             slots_.slot_size.count());
    }
    if (slots_.send_slots < 1) {
      report(i, "{} send slots at place {}: expected at least 1", slots_.send_slots,
             topology_.place_of(transfer.send_nic));
    }
    if (slots_.receive_slots < 1) {
      report(i, "{} receive slots at place {}: expected at least 1", slots_.receive_slots,
             topology_.place_of(transfer.receive_nic));
    }
  }
}

void Verifier::check_stages() {
  using Use = std::tuple<NicId, bool, std::int32_t>;
  std::map<Use, Index> first;
  const auto use = [&](Index i, NicId nic, bool sends) {
    const std::int32_t stage = plan_.transfers[i].stage;
    const auto [found, fresh] = first.try_emplace(Use(nic, sends, stage), i);
    if (!fresh) {
      report(i, "NIC {} {} twice in stage {}, also for transfer {}", nic,
             sends ? "sends" : "receives", stage, found->second);
    }
  };
  for (Index i = 0; i < plan_.transfers.size(); ++i) {
    if (plan_.transfers[i].route != Route::kStaged) continue;
    use(i, plan_.transfers[i].send_nic, true);
    use(i, plan_.transfers[i].receive_nic, false);
  }
}

void Verifier::check_order() {
  const std::vector<std::size_t> cycle = find_wait_cycle(plan_);
  if (cycle.empty()) return;
  report(cycle.front(), "waits for itself, through transfers {}",
         fmt::join(cycle.begin() + 1, cycle.end(), ", "));
}

void Verifier::check_length() {
  const auto end = [](Bytes offset, const Transfer& transfer) { return offset + transfer.size; };
  using Path = std::tuple<Rank, std::vector<Rank>, Route, NicId, NicId, std::int32_t, FlowClass,
                          Bytes, Bytes>;
  std::map<Path, Index> ends;
  const auto path = [](const Transfer& t, Bytes source_offset, Bytes target_offset) {
    return Path(t.source, targets_of(t), t.route, t.send_nic, t.receive_nic, t.stage, t.flow_class,
                source_offset, target_offset);
  };
  for (Index i = 0; i < plan_.transfers.size(); ++i) {
    const Transfer& t = plan_.transfers[i];
    ends.try_emplace(path(t, end(t.source_offset, t), end(t.target_offset, t)), i);
  }
  for (Index i = 0; i < plan_.transfers.size(); ++i) {
    const Transfer& t = plan_.transfers[i];
    const auto before = ends.find(path(t, t.source_offset, t.target_offset));
    if (before == ends.end()) continue;
    report(i, "continues transfer {} on the same path: expected one transfer, whatever the size",
           before->second);
  }
}

}  // namespace

std::vector<std::string> find_violations(const Plan& plan, const Pattern* pattern,
                                         const Topology& topology, const SlotSupply& slots) {
  std::vector<std::string> violations;
  Verifier verifier(plan, topology, slots, violations);
  verifier.check_ranges();
  if (!violations.empty()) return violations;
  if (pattern != nullptr) verifier.check_pattern(*pattern);
  check_coverage(plan, pattern, violations);
  verifier.check_paths();
  verifier.check_slots();
  verifier.check_stages();
  verifier.check_order();
  verifier.check_length();
  return violations;
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
