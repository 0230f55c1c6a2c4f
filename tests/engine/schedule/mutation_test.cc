// Every way to spoil a compiled plan is found and named.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "engine/base/random.h"
#include "engine/pattern/pattern.h"
#include "engine/schedule/compile.h"
#include "engine/schedule/verifier.h"
#include "tests/engine/schedule/spoiled_plan.h"
#include "tests/engine/schedule/topologies.h"

namespace hoccl::engine {
namespace {

using namespace literals;
using testing::HasSubstr;
using testing::IsEmpty;

/// A compiled plan with what it is for.
struct Compiled {
  std::string name;
  Topology topology;
  Pattern pattern;
  Plan plan;
};

Compiled compiled(const Topology& topology, const PatternRequest& request,
                  const CompileOptions& options) {
  Pattern pattern = make_pattern(request, topology.rank_count());
  Plan plan = compile(pattern, topology, options);
  return {request.name, topology, std::move(pattern), std::move(plan)};
}

std::vector<Compiled> compiled_plans() {
  std::vector<Compiled> plans;
  CompileOptions options;
  options.chunk_size = 1_MiB;
  options.forwarding = Forwarding::kBalanced;
  for (const Topology& topology : {cluster(2, 4), cluster(3, 3)}) {
    for (const char* name : {"allgather", "alltoall", "alltoallv", "broadcast", "gather"}) {
      plans.push_back(compiled(
          topology, {.name = name, .size = 48_MiB, .matrix = MatrixKind::kRandom}, options));
    }
    CompileOptions ring = options;
    ring.algorithm = Algorithm::kRing;
    ring.nics = 2;
    plans.push_back(compiled(topology, {.name = "allgather", .size = 48_MiB}, ring));
    plans.back().name = "ring";
    CompileOptions single = options;
    single.nodes_per_stage_in = 1;
    plans.push_back(compiled(topology, {.name = "allgather", .size = 48_MiB}, single));
    CompileOptions own_nic = options;
    own_nic.forwarding = Forwarding::kOwnNic;
    for (const char* name : {"allgather", "alltoall", "broadcast"}) {
      plans.push_back(compiled(topology, {.name = name, .size = 48_MiB}, own_nic));
      plans.back().name += " over own NICs";
    }
  }
  return plans;
}

std::vector<std::string> violations_of(const Compiled& of) {
  return find_violations(of.plan, &of.pattern, of.topology, kSlots);
}

TEST(Mutation, TheCompiledPlansAreGood) {
  for (const Compiled& each : compiled_plans()) {
    EXPECT_THAT(violations_of(each), IsEmpty()) << each.name << " on " << each.topology.name();
    EXPECT_THAT(find_violations(each.plan, nullptr, each.topology, kSlots), IsEmpty())
        << each.name << " on " << each.topology.name();
  }
}

/// One way to spoil a plan. `spoil` is given a random transfer and returns false when that one
/// cannot be spoiled so; one of `faults` must be among what is found.
struct Mutation {
  const char* name;
  std::function<bool(Compiled&, std::size_t, Random&)> spoil;
  std::vector<const char*> faults;
};

/// A NIC next to the GPU of this rank, or none.
NicId own_nic(const Topology& topology, Rank rank) {
  const auto nics = topology.nics_of(topology.gpu_of(rank));
  return nics.empty() ? NicId::none() : nics.front();
}

/// Collects mutations.
class Mutations {
 public:
  void operator()(const char* name, std::function<bool(Compiled&, std::size_t, Random&)> spoil,
                  std::vector<const char*> faults) {
    all_.push_back({name, std::move(spoil), std::move(faults)});
  }
  [[nodiscard]] const std::vector<Mutation>& all() const { return all_; }

 private:
  std::vector<Mutation> all_;
};

/// Bytes that are missing, doubled or misplaced.
void add_byte_mutations(Mutations& add) {
  add("dropped",
      [](Compiled& c, std::size_t i, Random&) {
        c.plan.transfers.erase(c.plan.transfers.begin() + static_cast<std::ptrdiff_t>(i));
        return true;
      },
      {"are never delivered", "expected an earlier one of the plan"});
  add("doubled",
      [](Compiled& c, std::size_t i, Random&) {
        Transfer again = c.plan.transfers[i];
        again.id = FlowId(c.plan.transfers.back().id.value() + 1);
        c.plan.transfers.push_back(again);
        return true;
      },
      {"again, after transfer"});
  add("last chunk dropped",
      [](Compiled& c, std::size_t i, Random&) {
        Transfer& t = c.plan.transfers[i];
        const std::int64_t chunks = chunks_of(t, c.plan.chunk_size);
        t.size = chunks == 1 ? t.size - 1_B : c.plan.chunk_size * (chunks - 1);
        return t.size > 0_B;
      },
      {"are never delivered", "expected as many"});
  add("one byte more",
      [](Compiled& c, std::size_t i, Random&) {
        c.plan.transfers[i].size += 1_B;
        return true;
      },
      {"again, after transfer", "more than rank", "expected as many"});
  add("taken from the wrong place",
      [](Compiled& c, std::size_t i, Random&) {
        c.plan.transfers[i].source_offset += 1_B;
        return true;
      },
      {"source offset"});
  add("delivered to the wrong place",
      [](Compiled& c, std::size_t i, Random&) {
        c.plan.transfers[i].target_offset += 1_B;
        return true;
      },
      {"source offset", "more than rank", "again, after transfer", "are never delivered"});
}

/// Bytes that go to the wrong rank, or from it.
void add_route_mutations(Mutations& add) {
  add("misrouted to another rank of the node",
      [](Compiled& c, std::size_t i, Random& random) {
        Transfer& t = c.plan.transfers[i];
        const auto local = c.topology.ranks_of(c.topology.node_of(t.target));
        const Rank other = local[static_cast<std::size_t>(
            random.between(0, static_cast<std::int64_t>(local.size()) - 1))];
        if (delivers_to(t, other) || other == t.source) return false;
        t.target = other;
        return true;
      },
      {"sends nothing from rank", "more than rank", "again, after transfer",
       "are never delivered"});
  add("swapped offsets",
      [](Compiled& c, std::size_t i, Random&) {
        for (std::size_t k = 0; k < i; ++k) {
          Transfer& t = c.plan.transfers[k];
          Transfer& u = c.plan.transfers[i];
          if (t.source != u.source || t.size != u.size || t.source_offset == u.source_offset) {
            continue;
          }
          std::swap(t.source_offset, u.source_offset);
          return true;
        }
        return false;
      },
      {"source offset"});
  add("branch left out",
      [](Compiled& c, std::size_t i, Random&) {
        Transfer& t = c.plan.transfers[i];
        if (t.branches.empty()) return false;
        t.branches.pop_back();
        return true;
      },
      {"are never delivered", "nothing"});
  add("further target left out",
      [](Compiled& c, std::size_t i, Random&) {
        Transfer& t = c.plan.transfers[i];
        if (t.more_targets.empty()) return false;
        t.more_targets.pop_back();
        return true;
      },
      {"are never delivered", "nothing"});
  add("another class",
      [](Compiled& c, std::size_t i, Random&) {
        c.plan.transfers[i].flow_class = FlowClass::kBackground;
        return true;
      },
      {"class of its flow"});
}

/// Legs that no machine can have, or not at once.
void add_path_mutations(Mutations& add) {
  add("copied within a GPU",
      [](Compiled& c, std::size_t i, Random& random) {
        Transfer& t = c.plan.transfers[i];
        switch (t.route) {
          case Route::kDirect:
            t.target = t.source;
            return true;
          case Route::kRelayed:
            t.via = c.topology.place_of(c.topology.gpu_of(t.source));
            return true;
          case Route::kStaged:
            if (random.chance(0.5)) {
              t.send_nic = own_nic(c.topology, t.source);
            } else {
              t.receive_nic = own_nic(c.topology, targets_of(t)[0]);
            }
            return true;
          case Route::kRegistered:
            return false;
        }
        return false;
      },
      {"copies within GPU"});
  add("NIC with two partners in a stage",
      [](Compiled& c, std::size_t i, Random&) {
        Transfer& u = c.plan.transfers[i];
        if (!crosses_wire(u) || c.plan.order == Order::kLocal) return false;
        for (Transfer& t : c.plan.transfers) {
          const bool meets = crosses_wire(t) && t.stage == u.stage &&
                             t.stage_list == u.stage_list && t.receive_nic != u.receive_nic &&
                             t.send_nic != u.send_nic &&
                             c.topology.node_of(t.target) == c.topology.node_of(u.target);
          if (!meets) continue;
          u.receive_nic = t.receive_nic;
          return true;
        }
        return false;
      },
      {"too, for transfer"});
  add("NIC of another node",
      [](Compiled& c, std::size_t i, Random&) {
        Transfer& t = c.plan.transfers[i];
        if (!crosses_wire(t)) return false;
        std::swap(t.send_nic, t.receive_nic);
        return true;
      },
      {"is on node", "expected one next to GPU"});
  add("branch to a node that is served already",
      [](Compiled& c, std::size_t i, Random&) {
        Transfer& t = c.plan.transfers[i];
        if (t.route != Route::kStaged || t.branches.size() == kMaxBranches) return false;
        t.branches.push_back(
            {.receive_nic = t.receive_nic, .target = t.target, .stage = kMaxStage});
        return true;
      },
      {"where it goes already"});
}

/// Legs between user buffers that no NIC can carry.
void add_registered_mutations(Mutations& add) {
  add("NIC of another GPU",
      [](Compiled& c, std::size_t i, Random& random) {
        Transfer& t = c.plan.transfers[i];
        if (t.route != Route::kRegistered) return false;
        NicId& nic = random.chance(0.5) ? t.send_nic : t.receive_nic;
        const auto local = c.topology.nics_of(c.topology.nic(nic).node);
        nic = nic == local.front() ? local.back() : local.front();
        return true;
      },
      {"expected one next to GPU"});
  add("registered to many",
      [](Compiled& c, std::size_t i, Random& random) {
        Transfer& t = c.plan.transfers[i];
        if (t.route != Route::kRegistered) return false;
        if (random.chance(0.5)) {
          t.more_targets.push_back(t.target);
        } else {
          t.branches.push_back({.receive_nic = t.receive_nic, .target = t.target});
        }
        return true;
      },
      {"registered, with 1"});
  add("registered inside a node",
      [](Compiled& c, std::size_t i, Random&) {
        Transfer& t = c.plan.transfers[i];
        if (t.route != Route::kDirect) return false;
        t.route = Route::kRegistered;
        t.send_nic = own_nic(c.topology, t.source);
        t.receive_nic = own_nic(c.topology, t.target);
        return true;
      },
      {"registered inside node"});
}

/// Chains, ids and lists that do not hold together.
void add_structure_mutations(Mutations& add) {
  add("after the wrong one",
      [](Compiled& c, std::size_t i, Random& random) {
        Transfer& t = c.plan.transfers[i];
        if (t.after.is_none()) return false;
        const auto k = static_cast<std::size_t>(
            random.between(0, static_cast<std::int64_t>(c.plan.transfers.size()) - 1));
        if (delivers_to(c.plan.transfers[k], t.source)) return false;
        t.after = c.plan.transfers[k].id;
        return true;
      },
      {"nothing", "expected an earlier one of the plan"});
  add("ring broken",
      [](Compiled& c, std::size_t i, Random&) {
        Transfer& t = c.plan.transfers[i];
        if (t.after.is_none()) return false;
        t.after = FlowId::none();
        return true;
      },
      {"sends nothing from rank", "source offset", "more than rank", "are never delivered"});
  add("id used twice",
      [](Compiled& c, std::size_t i, Random&) {
        if (i == 0) return false;
        c.plan.transfers[i].id = c.plan.transfers[i - 1].id;
        return true;
      },
      {"expected ascending ids"});
  add("stage list cut",
      [](Compiled& c, std::size_t i, Random&) {
        const std::int32_t list = c.plan.transfers[i].stage_list;
        if (list < 0) return false;
        c.plan.stage_lists[static_cast<std::size_t>(list)].marks.pop_back();
        return true;
      },
      {"expected its total"});
}

Mutations mutations() {
  Mutations all;
  add_byte_mutations(all);
  add_route_mutations(all);
  add_path_mutations(all);
  add_registered_mutations(all);
  add_structure_mutations(all);
  return all;
}

bool names(const std::vector<std::string>& violations, const std::vector<const char*>& faults) {
  return std::ranges::any_of(violations, [&](const std::string& line) {
    return std::ranges::any_of(
        faults, [&](const char* fault) { return line.find(fault) != std::string::npos; });
  });
}

TEST(Mutation, EveryWayToSpoilAPlanIsFoundAndNamed) {
  constexpr int kTries = 50;
  const std::vector<Compiled> plans = compiled_plans();
  const Mutations every = mutations();
  for (const Mutation& mutation : every.all()) {
    Random random(7);
    int applied = 0;
    for (const Compiled& good : plans) {
      for (int attempt = 0; attempt < kTries; ++attempt) {
        Compiled bad = good;
        const auto i = static_cast<std::size_t>(
            random.between(0, static_cast<std::int64_t>(bad.plan.transfers.size()) - 1));
        if (!mutation.spoil(bad, i, random)) continue;
        ++applied;
        const std::vector<std::string> violations = violations_of(bad);
        EXPECT_TRUE(names(violations, mutation.faults))
            << mutation.name << ", " << good.name << " on " << good.topology.name() << ", transfer "
            << good.plan.transfers[i].id.value() << ": "
            << (violations.empty() ? "nothing found" : violations.front());
      }
    }
    EXPECT_GT(applied, 5) << mutation.name;
  }
}

}  // namespace
}  // namespace hoccl::engine
