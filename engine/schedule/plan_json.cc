#include "engine/schedule/plan_json.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <limits>
#include <system_error>

#include "engine/base/check.h"
#include "engine/base/config_error.h"
#include "engine/pattern/pattern.h"
#include "engine/schedule/strict_json.h"

namespace hoccl::engine {
namespace {

constexpr std::int64_t kMaxSize = kMaxMessageSize.count();

std::string_view to_string(FlowClass flow_class) {
  switch (flow_class) {
    case FlowClass::kForeground:
      return "foreground";
    case FlowClass::kBackground:
      return "background";
  }
  HOCCL_CHECK(false, "class {}", static_cast<int>(flow_class));
}

std::string_view to_string(Route route) {
  switch (route) {
    case Route::kDirect:
      return "direct";
    case Route::kStaged:
      return "staged";
    case Route::kRelayed:
      return "relayed";
  }
  HOCCL_CHECK(false, "route {}", static_cast<int>(route));
}

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string transfer_to_json(const Transfer& transfer) {
  std::string text = fmt::format(
      R"({{"source": {}, "target": {}, "source_offset_bytes": {}, "target_offset_bytes": {}, )"
      R"("size_bytes": {}, "class": "{}", "route": "{}")",
      transfer.source, transfer.target, transfer.source_offset.count(),
      transfer.target_offset.count(), transfer.size.count(), to_string(transfer.flow_class),
      to_string(transfer.route));
  if (transfer.route == Route::kStaged) {
    text += fmt::format(R"(, "send_nic": {}, "receive_nic": {}, "stage": {})", transfer.send_nic,
                        transfer.receive_nic, transfer.stage);
  }
  if (!transfer.more_targets.empty()) {
    text += fmt::format(R"(, "more_targets": [{}])", fmt::join(transfer.more_targets, ", "));
  }
  return text + "}";
}

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
  object.fail("route", "direct or staged");
}

std::vector<Rank> get_more_targets(StrictJson& object, int rank_count) {
  constexpr const char* kKey = "more_targets";
  std::vector<Rank> targets;
  for (const std::int64_t rank : object.get_integers(kKey, 0, rank_count - 1)) {
    targets.emplace_back(rank);
  }
  // Left out where there is none, so that every plan has one text.
  if (targets.empty()) object.fail(kKey, "at least one rank");
  return targets;
}

Transfer read_transfer(StrictJson object, int rank_count) {
  constexpr std::int64_t kMaxNic = std::numeric_limits<NicId::value_type>::max();
  Transfer transfer;
  transfer.source = Rank(object.get_integer("source", 0, rank_count - 1));
  transfer.target = Rank(object.get_integer("target", 0, rank_count - 1));
  transfer.source_offset = Bytes(object.get_integer("source_offset_bytes", 0, kMaxSize));
  transfer.target_offset = Bytes(object.get_integer("target_offset_bytes", 0, kMaxSize));
  transfer.size = Bytes(object.get_integer("size_bytes", 1, kMaxSize));
  transfer.flow_class = get_class(object);
  transfer.route = get_route(object);
  // A direct transfer has no wire leg; its file says nothing about one.
  if (transfer.route == Route::kStaged) {
    transfer.send_nic = NicId(object.get_integer("send_nic", 0, kMaxNic));
    transfer.receive_nic = NicId(object.get_integer("receive_nic", 0, kMaxNic));
    transfer.stage = static_cast<std::int32_t>(object.get_integer("stage", 0, kMaxStage));
    if (object.has("more_targets")) transfer.more_targets = get_more_targets(object, rank_count);
  }
  object.finish();
  return transfer;
}

}  // namespace

std::string plan_to_json(const Plan& plan) {
  std::string text = fmt::format(
      "{{\n  \"schema\": {},\n  \"pattern\": {},\n  \"topology\": {},\n  \"rank_count\": {},\n"
      "  \"message_size_bytes\": {},\n  \"chunk_size_bytes\": {},\n  \"transfers\": [",
      kPlanSchema, quoted(plan.pattern), quoted(plan.topology), plan.rank_count,
      plan.message_size.count(), plan.chunk_size.count());
  const char* separator = "\n    ";
  for (const Transfer& transfer : plan.transfers) {
    text += separator;
    text += transfer_to_json(transfer);
    separator = ",\n    ";
  }
  return text + (plan.transfers.empty() ? "]\n}\n" : "\n  ]\n}\n");
}

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
  const nlohmann::json& transfers = top.get_array("transfers");
  top.finish();
  plan.transfers.reserve(transfers.size());
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    plan.transfers.push_back(read_transfer(
        StrictJson(transfers[i], name, fmt::format("transfers[{}]", i)), plan.rank_count));
    plan.transfers.back().id = FlowId(i);
  }
  return plan;
}

void save_plan(const Plan& plan, const std::filesystem::path& file) {
  std::filesystem::path temporary = file;
  temporary += ".tmp";
  std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
  out << plan_to_json(plan);
  out.close();
  std::error_code error;
  if (out) std::filesystem::rename(temporary, file, error);
  if (!out || error) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw ConfigError(
        fmt::format("{}: cannot be written: expected a file in a writable folder", file.string()));
  }
}

Plan load_plan(const std::filesystem::path& file) {
  std::error_code error;
  std::ifstream in(file, std::ios::binary);
  if (!in || std::filesystem::is_directory(file, error)) {
    throw ConfigError(
        fmt::format("{}: cannot be read: expected a plan file (JSON)", file.string()));
  }
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  return plan_from_json(text, file.string());
}

}  // namespace hoccl::engine
