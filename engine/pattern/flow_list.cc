#include "engine/pattern/flow_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/base/config_error.h"
#include "engine/base/strict_json.h"
#include "engine/base/text_file.h"

namespace hoccl::engine {
namespace {

std::string flow_path(std::size_t number) { return fmt::format("flows[{}]", number); }

std::string get_name(const StrictJson& file, std::string name) {
  constexpr std::size_t kLongest = 64;
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
  if (name.empty() || name.size() > kLongest ||
      name.find_first_not_of(kLetters) != std::string::npos) {
    file.fail("name", "1 to 64 letters, digits, '-', '_' and '.'");
  }
  // The name decides what a plan is checked against.
  if (std::ranges::count(pattern_names(), name) > 0) {
    file.fail("name", "another name than the built-in patterns have");
  }
  return name;
}

void set_targets(StrictJson& object, int rank_count, Flow& flow) {
  const std::vector<std::int64_t> targets = object.get_integers("targets", 0, rank_count - 1);
  if (targets.empty()) object.fail("targets", "at least one rank");
  if (std::ranges::adjacent_find(targets, std::greater_equal()) != targets.end()) {
    object.fail("targets", "ascending ranks, each once");
  }
  if (targets.size() > 1 && std::ranges::count(targets, flow.source.value()) > 0) {
    object.fail("targets", "no source among several ranks: its own copy is a flow of its own");
  }
  flow.target = Rank(targets.front());
  for (std::size_t i = 1; i < targets.size(); ++i) flow.more_targets.emplace_back(targets[i]);
}

FlowClass get_class(StrictJson& object) {
  if (!object.has("class")) return FlowClass::kForeground;
  const std::string name = object.get_string("class");
  if (name == "foreground") return FlowClass::kForeground;
  if (name == "background") return FlowClass::kBackground;
  object.fail("class", "foreground or background");
}

Flow read_flow(StrictJson object, int rank_count) {
  constexpr std::int64_t kMaxSize = kMaxMessageSize.count();
  Flow flow;
  flow.source = Rank(object.get_integer("source", 0, rank_count - 1));
  set_targets(object, rank_count, flow);
  flow.size = Bytes(object.get_integer("size_bytes", 0, kMaxSize));
  const std::int64_t last_offset = kMaxSize - flow.size.count();
  flow.source_offset = Bytes(object.get_integer("source_offset_bytes", 0, last_offset));
  flow.target_offset = Bytes(object.get_integer("target_offset_bytes", 0, last_offset));
  flow.flow_class = get_class(object);
  object.finish();
  return flow;
}

/// What one flow writes into the receive buffer of one rank.
struct Written {
  Rank rank;
  Bytes begin;
  Bytes end;
  std::size_t flow = 0;  // its number in the file

  auto operator<=>(const Written&) const = default;
};

std::vector<Written> written_by(const std::vector<Flow>& flows) {
  std::vector<Written> written;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    if (flows[i].size == Bytes(0)) continue;
    for (const Rank target : targets_of(flows[i])) {
      written.push_back(
          {target, flows[i].target_offset, flows[i].target_offset + flows[i].size, i});
    }
  }
  return written;
}

void refuse_overlaps(std::vector<Written> written, const std::string& file) {
  std::ranges::sort(written);
  for (std::size_t i = 1; i < written.size(); ++i) {
    // Sorted by their begin, ranges that do not overlap have ascending ends too, so the first
    // overlap is one of neighbours.
    const Written& before = written[i - 1];
    const Written& after = written[i];
    if (before.rank != after.rank || before.end <= after.begin) continue;
    throw ConfigError(
        fmt::format("{}: {} and {} both write byte {} of rank {}: expected one flow "
                    "for each byte",
                    file, flow_path(std::min(before.flow, after.flow)),
                    flow_path(std::max(before.flow, after.flow)), after.begin.count(), after.rank));
  }
}

/// The most bytes that a rank sends or receives. What a rank receives cannot exceed its buffer,
/// because nothing overlaps; what it sends can.
Bytes largest_sum(const std::vector<Flow>& flows, int rank_count, const std::string& file) {
  std::vector<Bytes> sent(static_cast<std::size_t>(rank_count));
  std::vector<Bytes> received(static_cast<std::size_t>(rank_count));
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const Flow& flow = flows[i];
    sent[flow.source.index()] += flow.size;
    if (sent[flow.source.index()] > kMaxMessageSize) {
      throw ConfigError(fmt::format("{}: {}: rank {} sends {} bytes so far: expected at most {}",
                                    file, flow_path(i), flow.source,
                                    sent[flow.source.index()].count(), kMaxMessageSize.count()));
    }
    for (const Rank target : targets_of(flow)) received[target.index()] += flow.size;
  }
  return std::max(*std::ranges::max_element(sent), *std::ranges::max_element(received));
}

}  // namespace

Pattern flow_list_from_json(std::string_view text, const std::string& name) {
  const nlohmann::json json = StrictJson::parse(text, name);
  StrictJson top(json, name, "");
  // First, so that a newer file is refused for its version and not for its keys.
  top.get_integer("schema", kFlowListSchema, kFlowListSchema);
  Pattern pattern;
  pattern.name = get_name(top, top.get_string("name"));
  pattern.rank_count = static_cast<int>(top.get_integer("rank_count", 1, kMaxRanks));
  const nlohmann::json& flows = top.get_array("flows");
  top.finish();
  pattern.flows.reserve(flows.size());
  for (std::size_t i = 0; i < flows.size(); ++i) {
    pattern.flows.push_back(
        read_flow(StrictJson(flows[i], name, flow_path(i)), pattern.rank_count));
  }
  refuse_overlaps(written_by(pattern.flows), name);
  pattern.message_size = largest_sum(pattern.flows, pattern.rank_count, name);
  pattern.size_meaning = "most bytes that a rank sends, a multicast counted once, or receives";
  pattern.busbw_factor = 1.0;
  std::erase_if(pattern.flows, [](const Flow& flow) { return flow.size == Bytes(0); });
  return pattern;
}

Pattern load_flow_list(const std::filesystem::path& file) {
  return flow_list_from_json(read_text_file(file, "a flow list (JSON)"), file.string());
}

}  // namespace hoccl::engine
