#include "tests/engine/schedule/plan_examples.h"

#include "engine/schedule/verifier.h"
#include "tests/engine/schedule/spoiled_plan.h"
#include "tests/engine/schedule/topologies.h"

namespace hoccl::engine {
namespace {

using namespace literals;

Transfer piece(int id, int source, int target, FlowId after) {
  Transfer transfer;
  transfer.id = FlowId(id);
  transfer.source = Rank(source);
  transfer.target = Rank(target);
  transfer.size = 8_MiB;
  transfer.after = after;
  return transfer;
}

}  // namespace

BroadcastExample::BroadcastExample()
    : topology(cluster(3, 4)), pattern(make_pattern({.name = "broadcast", .size = 8_MiB}, 12)) {
  plan.pattern = pattern.name;
  plan.topology = topology.name();
  plan.rank_count = 12;
  plan.message_size = 8_MiB;
  plan.chunk_size = 1_MiB;
  plan.stage_lists = {{.total = 8, .marks = {{0, 3}, {1, 8}}},
                      {.total = 8, .marks = {{2, 4}, {5, 8}}}};
  plan.transfers = {piece(0, 0, 1, FlowId::none()), piece(1, 1, 2, FlowId(0)),
                    piece(2, 2, 3, FlowId(1)),      piece(3, 0, 4, FlowId::none()),
                    piece(4, 6, 5, FlowId(3)),      piece(5, 11, 9, FlowId(3)),
                    piece(6, 0, 0, FlowId::none())};
  Transfer& staged = plan.transfers[3];
  staged.route = Route::kStaged;
  staged.send_nic = NicId(1);
  staged.receive_nic = NicId(5);
  staged.stage_list = 0;
  staged.more_targets = {Rank(6), Rank(7)};
  staged.branches = {{.receive_nic = NicId(9),
                      .target = Rank(8),
                      .more_targets = {Rank(10), Rank(11)},
                      .stage_list = 1}};
  plan.transfers[6].route = Route::kRelayed;
  plan.transfers[6].via = PlaceId(2);
}

std::vector<std::string> BroadcastExample::violations() const {
  return find_violations(plan, &pattern, topology, kSlots);
}

std::vector<std::string> spoiled_broadcast(const std::function<void(Plan&)>& spoil) {
  BroadcastExample example;
  spoil(example.plan);
  return example.violations();
}

}  // namespace hoccl::engine
