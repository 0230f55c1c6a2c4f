#include "experiments/hoccl/traffic_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "engine/base/config_error.h"
#include "engine/pattern/allgather.h"
#include "engine/pattern/alltoall.h"
#include "engine/pattern/flow_list.h"
#include "engine/pattern/rooted.h"
#include "engine/pattern/sendrecv.h"
#include "experiments/hoccl/option_reader.h"

namespace hoccl::cli {

using engine::ConfigError;
using engine::Rank;

namespace {

constexpr std::string_view kMatrixFile = ".csv";
constexpr std::string_view kFlowFile = ".json";

using Names = std::vector<std::string_view>;

/// What an option is for: patterns by name, files by their ending.
struct Use {
  std::string_view option;
  Names patterns;
};

const std::vector<Use>& uses() {
  using namespace engine;
  static const Names kNamed = pattern_names();
  static const Names kRooted = {kBroadcastName, kGatherName, kScatterName};
  static const Names kCollectives = {kAllGatherName, kAllToAllName, kAllToAllVName, kBroadcastName,
                                     kGatherName,    kScatterName,  kMatrixFile};
  static const Names kMulticasts = {kAllGatherName, kBroadcastName, kFlowFile};
  static const std::vector<Use> kUses = {
      {"--group", kNamed},
      {"--from", {kSendRecvName}},
      {"--to", {kSendRecvName}},
      {"--root", kRooted},
      {"--in-place", kCollectives},
      {"--self-copy", kCollectives},
      {"--matrix", {kAllToAllVName}},
      {"--algorithm", kMulticasts},
      {"--nics", kMulticasts},
      {"--nodes-per-stage-in", kMulticasts},
      {"--begin", kNamed},
      {"--end", kNamed},
      {"--factor", kNamed},
  };
  return kUses;
}

/// As `uses()` names it.
std::string_view kind_of(const PatternOptions& options) {
  for (const std::string_view ending : {kMatrixFile, kFlowFile}) {
    if (options.pattern.ends_with(ending)) return ending;
  }
  return options.pattern;
}

bool is_given(const PatternOptions& options, const std::string& option) {
  return options.given.contains(option);
}

[[noreturn]] void refuse(const PatternOptions& options, const std::string& option,
                         const std::string& expected) {
  throw ConfigError(fmt::format("{} = '{}': {}", option, options.given.at(option), expected));
}

void require_used(const PatternOptions& options) {
  const std::string_view kind = kind_of(options);
  const Names known = engine::pattern_names();
  const bool is_known = is_pattern_file(kind) || std::ranges::count(known, kind) > 0;
  if (!is_known) return;  // an unknown pattern is what will be refused
  for (const Use& use : uses()) {
    const std::string option(use.option);
    if (!is_given(options, option) || std::ranges::count(use.patterns, kind) > 0) continue;
    Names names = use.patterns;
    for (std::string_view& name : names) {
      if (is_pattern_file(name)) name = name == kMatrixFile ? "a matrix (.csv)" : "flows (.json)";
    }
    const std::string expected = use.patterns == known ? "a pattern's name, as a file says it all"
                                                       : fmt::format("{}", fmt::join(names, ", "));
    refuse(options, option,
           fmt::format("--pattern {} has no use for it; expected {}", options.pattern, expected));
  }
}

/// A matrix is an AllToAllv.
std::string pattern_name(const PatternOptions& options) {
  const bool is_matrix = options.pattern.ends_with(kMatrixFile);
  return is_matrix ? std::string(engine::kAllToAllVName) : options.pattern;
}

/// The paper's own operations go the paper's way, unless told otherwise.
engine::Forwarding forwarding_of(const PatternOptions& options) {
  if (!options.forwarding.empty()) return engine::parse_forwarding(options.forwarding);
  return engine::is_send_recv(options.pattern) ? engine::Forwarding::kSymmetric
                                               : engine::Forwarding::kBalanced;
}

engine::Order order_of(const PatternOptions& options) {
  return options.order.empty()
             ? engine::default_order(pattern_name(options), forwarding_of(options))
             : engine::parse_order(options.order);
}

bool is_decomposed(const PatternOptions& options) {
  const engine::Order order = order_of(options);
  return order == engine::Order::kCritical || order == engine::Order::kBvn;
}

void require_consistent(const PatternOptions& options) {
  if (options.algorithm != "ring" && is_given(options, "--nics")) {
    refuse(options, "--nics", "expected --algorithm ring with it");
  }
  if (options.algorithm != "multicast" && is_given(options, "--nodes-per-stage-in")) {
    refuse(options, "--nodes-per-stage-in", "expected --algorithm multicast with it");
  }
  if (is_given(options, "--quantise") && !is_decomposed(options)) {
    refuse(options, "--quantise", "expected --order critical or bvn with it");
  }
  if (options.self_copy == "sm") {
    refuse(options, "--self-copy", "copies by SMs are not built; expected peer or none");
  }
  if (options.self_copy != "peer" && options.self_copy != "none") {
    refuse(options, "--self-copy", "expected peer or none");
  }
  if (options.in_place && is_given(options, "--self-copy") && options.self_copy == "peer") {
    refuse(options, "--self-copy", "expected none with --in-place, which copies no rank's own");
  }
  if (!options.matrix.ends_with(kMatrixFile)) return;
  for (const std::string option : {"--begin", "--end", "--factor"}) {
    if (is_given(options, option)) {
      refuse(options, option, fmt::format("--matrix = '{}' says the size", options.matrix));
    }
  }
}

std::vector<Rank> read_group(const std::string& text, int rank_count) {
  std::vector<Rank> group;
  if (text.empty()) return group;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const Rank rank(parse_integer("--group", text.substr(begin, end - begin), 0, rank_count - 1));
    if (!group.empty() && rank <= group.back()) {
      throw ConfigError(fmt::format("--group = '{}': expected ascending ranks", text));
    }
    group.push_back(rank);
    begin = end + 1;
  }
  return group;
}

/// Only of what the pattern uses: the others have their defaults.
void require_ranks(const PatternOptions& options, int members) {
  const std::string_view kind = kind_of(options);
  const auto require = [&](const std::string& option, int rank) {
    if (rank < members || members < 2) return;  // the pattern says how many it needs
    throw ConfigError(
        fmt::format("{} = '{}': expected a rank from 0 to {}", option, rank, members - 1));
  };
  if (kind == engine::kSendRecvName) {
    require("--from", options.from);
    require("--to", options.to);
  }
  require("--root", options.root);
}

std::string rank_text(Rank rank) { return fmt::format("{}", rank); }

}  // namespace

bool is_pattern_file(std::string_view pattern) {
  return pattern.ends_with(kMatrixFile) || pattern.ends_with(kFlowFile);
}

engine::Traffic resolve_traffic(const PatternOptions& options, const engine::Topology& topology) {
  require_used(options);
  require_consistent(options);
  const int rank_count = topology.rank_count();
  engine::Traffic traffic;
  if (options.pattern.ends_with(kFlowFile)) {
    traffic.flows =
        std::make_shared<const engine::Pattern>(engine::load_flow_list(options.pattern));
    return traffic;
  }
  const bool in_place = options.in_place || options.self_copy == "none";
  traffic.request = {
      .name = pattern_name(options),
      .source = Rank(options.from),
      .target = Rank(options.to),
      .size = engine::Bytes(0),
      .root = Rank(options.root),
      .in_place = in_place,
      .matrix = engine::MatrixKind::kUniform,
      .seed = options.seed,
      .group = read_group(options.group, rank_count),
  };
  const std::string& matrix =
      options.pattern.ends_with(kMatrixFile) ? options.pattern : options.matrix;
  if (matrix.ends_with(kMatrixFile)) {
    traffic.matrix = std::make_shared<const engine::TrafficMatrix>(engine::load_matrix(matrix));
  } else {
    traffic.request.matrix = engine::parse_matrix_kind(matrix);
  }
  require_ranks(options, static_cast<int>(engine::members_of(traffic, rank_count).size()));
  return traffic;
}

engine::CompileOptions compile_options(const PatternOptions& options) {
  return {.chunk_size = options.chunk,
          .rails = options.rails.value_or(0),
          .forwarding = forwarding_of(options),
          .order = order_of(options),
          .algorithm = engine::parse_algorithm(options.algorithm),
          .nics = options.nics,
          .quantise = options.quantise,
          .nodes_per_stage_in = options.nodes_per_stage_in};
}

Settings traffic_settings(const engine::Traffic& traffic, const engine::CompileOptions& compile,
                          const engine::PipelineOptions& pipeline) {
  const engine::PatternRequest& request = traffic.request;
  const std::string_view kind = traffic.flows ? kFlowFile : std::string_view(request.name);
  const auto if_used = [&](std::string_view option, std::string text) {
    const auto use = std::ranges::find(uses(), option, &Use::option);
    return std::ranges::count(use->patterns, kind) > 0 ? std::move(text) : std::string();
  };
  const std::string matrix(traffic.matrix ? "file" : to_string(request.matrix));
  const bool staged_multicast = compile.algorithm == engine::Algorithm::kMulticast &&
                                compile.forwarding != engine::Forwarding::kOwnNic;
  const bool ring = compile.algorithm == engine::Algorithm::kRing;
  return {
      {"from", if_used("--from", rank_text(request.source))},
      {"to", if_used("--to", rank_text(request.target))},
      {"root", if_used("--root", rank_text(request.root))},
      {"matrix", if_used("--matrix", matrix)},
      {"in_place", if_used("--in-place", request.in_place ? "yes" : "no")},
      {"group", fmt::format("{}", fmt::join(request.group, " "))},
      {"algorithm", if_used("--algorithm", std::string(to_string(compile.algorithm)))},
      {"nics", ring ? if_used("--nics", std::to_string(compile.nics)) : std::string()},
      {"nodes_per_stage_in", staged_multicast ? if_used("--nodes-per-stage-in",
                                                        std::to_string(compile.nodes_per_stage_in))
                                              : std::string()},
      {"forwarding", std::string(to_string(compile.forwarding))},
      {"rails", compile.rails == 0 ? std::string() : std::to_string(compile.rails)},
      {"order", std::string(to_string(compile.order))},
      {"quantise_pct",
       compile.quantise > 0.0 ? fmt::format("{:g}", 100.0 * compile.quantise) : std::string()},
      {"chunk_bytes", std::to_string(compile.chunk_size.count())},
      {"barrier", pipeline.barrier ? "yes" : "no"},
      {"overlap", pipeline.overlap ? "yes" : "no"},
      {"interleave", pipeline.interleave ? "yes" : "no"},
      {"slack_fill", pipeline.slack_fill ? "yes" : "no"},
  };
}

Settings plan_settings(const engine::Plan& plan, const engine::PipelineOptions& pipeline) {
  Settings settings = traffic_settings({}, {}, pipeline);
  for (auto& [name, value] : settings) {
    if (name == "order") value = to_string(plan.order);
    if (name == "chunk_bytes") value = std::to_string(plan.chunk_size.count());
    const bool known = name == "order" || name == "chunk_bytes" || name == "barrier" ||
                       name == "overlap" || name == "interleave" || name == "slack_fill";
    if (!known) value.clear();
  }
  return settings;
}

std::string size_note(const engine::Traffic& traffic) {
  if (traffic.has_own_size() || traffic.request.name != engine::kAllToAllVName) return {};
  return "size: what a rank sends on average; algbw and busbw count the largest buffer, as "
         "nccl-tests does";
}

std::string settings_note(const Settings& settings) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : settings) {
    if (!value.empty()) parts.push_back(fmt::format("{} {}", name, value));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace hoccl::cli
