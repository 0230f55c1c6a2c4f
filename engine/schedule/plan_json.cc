#include "engine/schedule/plan_json.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>

#include "engine/base/check.h"
#include "engine/base/config_error.h"
#include "engine/schedule/compile.h"

namespace hoccl::engine {
namespace {

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
    case Route::kRegistered:
      return "registered";
  }
  HOCCL_CHECK(false, "route {}", static_cast<int>(route));
}

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

template <class... Args>
void append(std::string& text, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
}

void append_stage(std::string& text, std::int32_t stage, std::int32_t stage_list) {
  if (stage_list < 0) {
    append(text, R"(, "stage": {})", stage);
  } else {
    append(text, R"(, "stage_list": {})", stage_list);
  }
}

void append_more_targets(std::string& text, const std::vector<Rank>& ranks) {
  if (!ranks.empty()) append(text, R"(, "more_targets": [{}])", fmt::join(ranks, ", "));
}

void append_branches(std::string& text, const std::vector<Branch>& branches) {
  if (branches.empty()) return;
  text += R"(, "branches": [)";
  const char* separator = "";
  for (const Branch& branch : branches) {
    append(text, R"({}{{"receive_nic": {}, "target": {})", separator, branch.receive_nic,
           branch.target);
    append_stage(text, branch.stage, branch.stage_list);
    append_more_targets(text, branch.more_targets);
    text += '}';
    separator = ", ";
  }
  text += ']';
}

void append_transfer(std::string& text, const Transfer& transfer) {
  append(text,
         R"({{"id": {}, "source": {}, "target": {}, "source_offset_bytes": {}, )"
         R"("target_offset_bytes": {}, "size_bytes": {}, "class": "{}", "route": "{}")",
         transfer.id, transfer.source, transfer.target, transfer.source_offset.count(),
         transfer.target_offset.count(), transfer.size.count(), to_string(transfer.flow_class),
         to_string(transfer.route));
  if (!transfer.after.is_none()) append(text, R"(, "after": {})", transfer.after);
  switch (transfer.route) {
    case Route::kDirect:
      break;
    case Route::kStaged:
    case Route::kRegistered:
      append(text, R"(, "send_nic": {}, "receive_nic": {})", transfer.send_nic,
             transfer.receive_nic);
      append_stage(text, transfer.stage, transfer.stage_list);
      break;
    case Route::kRelayed:
      append(text, R"(, "via": {})", transfer.via);
      break;
  }
  append_more_targets(text, transfer.more_targets);
  append_branches(text, transfer.branches);
  text += '}';
}

void append_stage_list(std::string& text, const StageList& list) {
  append(text, R"({{"total": {}, "marks": [)", list.total);
  const char* separator = "";
  for (const StageMark& mark : list.marks) {
    append(text, "{}[{}, {}]", separator, mark.stage, mark.end);
    separator = ", ";
  }
  text += "]}";
}

/// An array with one entry per line.
template <class Entry>
void append_array(std::string& text, const char* key, const std::vector<Entry>& entries,
                  void (*append_entry)(std::string&, const Entry&)) {
  append(text, "  \"{}\": [", key);
  const char* separator = "\n    ";
  for (const Entry& entry : entries) {
    text += separator;
    append_entry(text, entry);
    separator = ",\n    ";
  }
  text += entries.empty() ? "]" : "\n  ]";
}

}  // namespace

std::string plan_to_json(const Plan& plan) {
  std::string text = fmt::format(
      "{{\n  \"schema\": {},\n  \"pattern\": {},\n  \"topology\": {},\n  \"rank_count\": {},\n"
      "  \"message_size_bytes\": {},\n  \"chunk_size_bytes\": {},\n  \"order\": \"{}\",\n",
      kPlanSchema, quoted(plan.pattern), quoted(plan.topology), plan.rank_count,
      plan.message_size.count(), plan.chunk_size.count(), to_string(plan.order));
  append_array(text, "stage_lists", plan.stage_lists, append_stage_list);
  text += ",\n";
  append_array(text, "transfers", plan.transfers, append_transfer);
  return text + "\n}\n";
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
