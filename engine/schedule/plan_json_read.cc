#include <fmt/format.h>

#include <limits>
#include <utility>

#include "engine/base/strict_json.h"
#include "engine/pattern/pattern.h"
#include "engine/schedule/compile.h"
#include "engine/schedule/plan_json.h"

namespace hoccl::engine {
namespace {

constexpr std::int64_t kMaxSize = kMaxMessageSize.count();
/// Of ids and indices whose range only the topology or the rest of the plan gives.
constexpr std::int64_t kMaxId = std::numeric_limits<std::int32_t>::max();

FlowClass get_class(StrictJson& object) {
  const std::string name = object.get_string("class");
  if (name == "foreground") return FlowClass::kForeground;
  if (name == "background") return FlowClass::kBackground;
  object.fail("class", "foreground or background");
}

Route get_route(StrictJson& object) {
  const std::string name = object.get_string("route");
  if (name == "direct") return Route::kDirect;
  if (name == "staged") return Route::kStaged;
  if (name == "relayed") return Route::kRelayed;
  if (name == "registered") return Route::kRegistered;
  object.fail("route", "direct, staged, relayed or registered");
}

Order get_order(StrictJson& object) {
  const std::string name = object.get_string("order");
  for (const Order order : {Order::kCritical, Order::kBvn, Order::kRotation, Order::kLocal}) {
    if (name == to_string(order)) return order;
  }
  object.fail("order", "critical, bvn, rotation or local");
}

/// A pair of whole numbers, or nothing else.
bool is_mark(const nlohmann::json& value) {
  return value.is_array() && value.size() == 2 && value[0].is_number_integer() &&
         value[1].is_number_integer();
}

StageList read_stage_list(StrictJson object) {
  constexpr const char* kMarks = "marks";
  StageList list;
  list.total = object.get_integer("total", 1, kMaxStageListTotal);
  const auto refuse = [&] {
    object.fail(kMarks, fmt::format("[stage, end] pairs, both ascending, stages 0 to {}, the last "
                                    "end {}",
                                    kMaxStage, list.total));
  };
  StageMark before{.stage = -1, .end = 0};
  for (const nlohmann::json& value : object.get_array(kMarks)) {
    if (!is_mark(value)) refuse();
    // Compared as doubles, because a whole number in JSON may exceed 64 bits of either sign.
    const auto stage = value[0].get<double>();
    const auto end = value[1].get<double>();
    if (!(stage > before.stage && stage <= kMaxStage)) refuse();
    if (!(end > static_cast<double>(before.end) && end <= static_cast<double>(list.total))) {
      refuse();
    }
    before = {value[0].get<std::int32_t>(), value[1].get<std::int64_t>()};
    list.marks.push_back(before);
  }
  if (before.end != list.total) refuse();
  object.finish();
  return list;
}

/// What every part of the file is read with.
struct Limits {
  std::int64_t last_rank = 0;
  std::int64_t last_stage_list = -1;
};

std::vector<Rank> get_more_targets(StrictJson& object, const Limits& limits) {
  constexpr const char* kKey = "more_targets";
  std::vector<Rank> targets;
  if (!object.has(kKey)) return targets;
  for (const std::int64_t rank : object.get_integers(kKey, 0, limits.last_rank)) {
    targets.emplace_back(rank);
  }
  // Left out where there is none, so that every plan has one text.
  if (targets.empty()) object.fail(kKey, "at least one rank");
  return targets;
}

/// Into the two fields of a transfer or branch.
void get_stage(StrictJson& object, const Limits& limits, std::int32_t& stage,
               std::int32_t& stage_list) {
  if (object.has("stage_list")) {
    if (limits.last_stage_list < 0) object.fail("stage_list", "none, for the plan has no lists");
    stage_list =
        static_cast<std::int32_t>(object.get_integer("stage_list", 0, limits.last_stage_list));
  } else {
    stage = static_cast<std::int32_t>(object.get_integer("stage", 0, kMaxStage));
  }
}

Branch read_branch(StrictJson object, const Limits& limits) {
  Branch branch;
  branch.receive_nic = NicId(object.get_integer("receive_nic", 0, kMaxId));
  branch.target = Rank(object.get_integer("target", 0, limits.last_rank));
  get_stage(object, limits, branch.stage, branch.stage_list);
  branch.more_targets = get_more_targets(object, limits);
  object.finish();
  return branch;
}

void read_wire(StrictJson& object, const Limits& limits, Transfer& transfer) {
  transfer.send_nic = NicId(object.get_integer("send_nic", 0, kMaxId));
  transfer.receive_nic = NicId(object.get_integer("receive_nic", 0, kMaxId));
  get_stage(object, limits, transfer.stage, transfer.stage_list);
}

void read_further_targets(StrictJson& object, const std::string& name, const std::string& path,
                          const Limits& limits, Transfer& transfer) {
  transfer.more_targets = get_more_targets(object, limits);
  if (!object.has("branches")) return;
  const nlohmann::json& branches = object.get_array("branches");
  if (branches.empty() || branches.size() > kMaxBranches) {
    object.fail("branches", fmt::format("1 to {} branches", kMaxBranches));
  }
  for (std::size_t i = 0; i < branches.size(); ++i) {
    transfer.branches.push_back(read_branch(
        StrictJson(branches[i], name, fmt::format("{}.branches[{}]", path, i)), limits));
  }
}

Transfer read_transfer(const nlohmann::json& value, const std::string& name,
                       const std::string& path, const Limits& limits) {
  StrictJson object(value, name, path);
  Transfer transfer;
  transfer.id = FlowId(object.get_integer("id", 0, kMaxId));
  transfer.source = Rank(object.get_integer("source", 0, limits.last_rank));
  transfer.target = Rank(object.get_integer("target", 0, limits.last_rank));
  transfer.source_offset = Bytes(object.get_integer("source_offset_bytes", 0, kMaxSize));
  transfer.target_offset = Bytes(object.get_integer("target_offset_bytes", 0, kMaxSize));
  transfer.size = Bytes(object.get_integer("size_bytes", 1, kMaxSize));
  transfer.flow_class = get_class(object);
  transfer.route = get_route(object);
  if (object.has("after")) transfer.after = FlowId(object.get_integer("after", 0, kMaxId));
  // Whatever a route does not have, its file says nothing about.
  switch (transfer.route) {
    case Route::kDirect:
      break;
    case Route::kStaged:
      read_wire(object, limits, transfer);
      read_further_targets(object, name, path, limits, transfer);
      break;
    case Route::kRegistered:
      read_wire(object, limits, transfer);
      break;
    case Route::kRelayed:
      transfer.via = PlaceId(object.get_integer("via", 0, kMaxId));
      break;
  }
  object.finish();
  return transfer;
}

}  // namespace

Plan plan_from_json(std::string_view text, const std::string& name) {
  const nlohmann::json json = StrictJson::parse(text, name);
  StrictJson top(json, name, "");
  // First, so that a newer file is refused for its version and not for its keys.
  top.get_integer("schema", kPlanSchema, kPlanSchema);
  Plan plan;
  plan.pattern = top.get_string("pattern");
  plan.topology = top.get_string("topology");
  plan.rank_count = static_cast<std::int32_t>(top.get_integer("rank_count", 1, kMaxRanks));
  plan.message_size = Bytes(top.get_integer("message_size_bytes", 0, kMaxSize));
  plan.chunk_size = Bytes(top.get_integer("chunk_size_bytes", 1, kMaxChunkSize.count()));
  plan.order = get_order(top);
  const nlohmann::json& lists = top.get_array("stage_lists");
  const nlohmann::json& transfers = top.get_array("transfers");
  top.finish();
  plan.stage_lists.reserve(lists.size());
  for (std::size_t i = 0; i < lists.size(); ++i) {
    plan.stage_lists.push_back(
        read_stage_list(StrictJson(lists[i], name, fmt::format("stage_lists[{}]", i))));
  }
  const Limits limits{.last_rank = plan.rank_count - 1,
                      .last_stage_list = static_cast<std::int64_t>(lists.size()) - 1};
  plan.transfers.reserve(transfers.size());
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    plan.transfers.push_back(
        read_transfer(transfers[i], name, fmt::format("transfers[{}]", i), limits));
  }
  return plan;
}

}  // namespace hoccl::engine
