#include "experiments/hoccl/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>

#include "engine/base/config_error.h"

namespace hoccl::cli {
namespace {

using engine::Bytes;
using engine::ConfigError;

constexpr std::string_view kProgram = "hoccl";
#ifdef HOCCL_WITH_SIM
constexpr std::string_view kVerbs = "plan or sim";
#else
constexpr std::string_view kVerbs = "plan (this build has no simulation)";
#endif

constexpr std::string_view kUsage =
    "hoccl: collective communication on copy engines and RDMA\n"
    "usage: hoccl <verb> [options]\n"
    "verbs:\n"
    "  plan    compile a pattern for a topology and show the schedule\n"
#ifdef HOCCL_WITH_SIM
    "  sim     simulate a pattern or a saved schedule\n"
#endif
    "hoccl <verb> --help lists a verb's options, hoccl --version the version.\n";

constexpr int kMaxSlots = 4096;
constexpr int kMaxInFlight = 1024;
constexpr int kMaxJobs = 256;

template <class Integer>
Integer parse_integer(const std::string& option, const std::string& text, Integer low,
                      Integer high) {
  Integer value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < low || value > high) {
    throw ConfigError(
        fmt::format("{} = '{}': expected a whole number from {} to {}", option, text, low, high));
  }
  return value;
}

/// `parser` of units.h, with the option's name in its error.
template <class Quantity>
Quantity parse_quantity(const std::string& option, const std::string& word,
                        Quantity (*parser)(std::string_view)) {
  try {
    return parser(word);
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{} = {}", option, error.what()));
  }
}

/// Adds the options of one verb. Values are read as text, so that every error has our wording.
class Options {
 public:
  explicit Options(CLI::App& app) : app_(app) {}

  CLI::Option* text(const std::string& names, std::string& value, const std::string& help) {
    return add(names, help, [&value](const std::string&, const std::string& word) { value = word; })
        ->default_str(value)
        ->type_name("NAME");
  }
  CLI::Option* file(const std::string& names, std::string& value, const std::string& help) {
    return text(names, value, help)->type_name("FILE");
  }
  template <class Integer>
  CLI::Option* integer(const std::string& names, Integer& value, Integer low, Integer high,
                       const std::string& help) {
    return add(names, help,
               [&value, low, high](const std::string& option, const std::string& word) {
                 value = parse_integer<Integer>(option, word, low, high);
               })
        ->default_str(std::to_string(value))
        ->type_name("N");
  }
  CLI::Option* size(const std::string& names, Bytes& value, const std::string& help) {
    return add(names, help,
               [&value](const std::string& option, const std::string& word) {
                 value = parse_quantity(option, word, engine::parse_bytes);
                 if (value < Bytes(1)) {
                   throw ConfigError(fmt::format("{} = '{}': expected 1B or more", option, word));
                 }
               })
        ->default_str(engine::to_string(value))
        ->type_name("QUANTITY");
  }
  CLI::Option* time(const std::string& names, engine::Seconds& value, const std::string& help) {
    return add(names, help,
               [&value](const std::string& option, const std::string& word) {
                 value = parse_quantity(option, word, engine::parse_seconds);
                 if (value <= engine::Seconds(0.0)) {
                   throw ConfigError(
                       fmt::format("{} = '{}': expected a time above zero", option, word));
                 }
               })
        ->default_str(engine::to_string(value))
        ->type_name("QUANTITY");
  }
  CLI::Option* on_off(const std::string& names, bool& value, const std::string& help) {
    return add(names, help,
               [&value](const std::string& option, const std::string& word) {
                 if (word != "on" && word != "off") {
                   throw ConfigError(fmt::format("{} = '{}': expected on or off", option, word));
                 }
                 value = word == "on";
               })
        ->default_str(value ? "on" : "off")
        ->type_name("on|off");
  }
  /// May be given several times.
  CLI::Option* list(const std::string& names, std::vector<std::string>& values,
                    const std::string& help) {
    return app_.add_option(names, values, help)->allow_extra_args(false)->type_name("KEY=VALUE");
  }

 private:
  /// "-b,--begin" -> "--begin".
  static std::string long_name(const std::string& names) { return names.substr(names.find("--")); }
  template <class Read>
  CLI::Option* add(const std::string& names, const std::string& help, Read read) {
    const std::string option = long_name(names);
    return app_.add_option_function<std::string>(
        names, [option, read](const std::string& word) { read(option, word); }, help);
  }

  CLI::App& app_;
};

/// Returns those that choose what is moved: a plan file excludes them.
std::vector<CLI::Option*> add_pattern_options(CLI::App& app, PatternOptions& values) {
  Options options(app);
  options.text("--topology", values.topology,
               "h800-<nodes>x<gpus>, h200-<nodes>x<gpus>, h200-1x1, gb200-nvl72 or a .toml file; "
               "default: h800-2x8, or the one a saved schedule names");
  std::vector<CLI::Option*> choices;
  choices.push_back(
      app.add_option_function<std::string>(
             "--ranks",
             [&values](const std::string& word) {
               values.ranks = parse_integer("--ranks", word, 1, std::numeric_limits<int>::max());
             },
             "use the first places, spread evenly over the nodes; default: one rank per GPU")
          ->type_name("N"));
  choices.push_back(
      options.text("--pattern", values.pattern, "sendrecv (one pair) or sendrecv-ring"));
  constexpr int kAny = std::numeric_limits<int>::max();
  choices.push_back(options.integer("--from", values.from, 0, kAny, "sendrecv: source rank"));
  choices.push_back(options.integer("--to", values.to, 0, kAny, "sendrecv: target rank"));
  choices.push_back(
      options.integer("--rails", values.rails, 1, kAny, "NIC pairs that carry one message"));
  choices.push_back(options.size("--chunk", values.chunk, "unit of pipelining"));
  choices.push_back(options.text("--forwarding", values.forwarding,
                                 "symmetric: the paper's pairing, NIC of GPU x xor 1"));
  return choices;
}

void add_plan_options(CLI::App& app, PlanOptions& values) {
  std::vector<CLI::Option*> choices = add_pattern_options(app, values.pattern);
  Options options(app);
  choices.push_back(options.size("-b,--begin", values.size, "message size"));
  CLI::Option* json = options.file("--json", values.json_file, "save the schedule");
  CLI::Option* load =
      options.file("--load", values.load_file, "verify and show a saved schedule instead");
  for (CLI::Option* choice : choices) load->excludes(choice);
  load->excludes(json);
}

#ifdef HOCCL_WITH_SIM
void add_pipeline_options(CLI::App& app, SimOptions& values) {
  Options options(app);
  options.integer("--slots", values.slots, 1, kMaxSlots,
                  "send slots, and receive slots, of every staging place");
  options.integer("--qps", values.pipeline.queue_pairs, 1, kMaxInFlight,
                  "queue pairs per pair of NICs");
  options.integer("--nic-depth", values.pipeline.nic_depth, 1, kMaxInFlight,
                  "writes in flight per sending NIC");
  options.integer("--streams", values.pipeline.streams, 1, kMaxInFlight,
                  "copy streams per engine class");
  options.integer("--quantum", values.pipeline.quantum, 1, kMaxInFlight,
                  "copies ahead of each copy engine");
  options.integer("--batch", values.pipeline.batch, 0, kMaxInFlight,
                  "copies handed over at once; 0: what is ready, 1: the paper's reading");
  options.on_off("--pipelining", values.pipelining,
                 "off: the next chunk is posted when the previous one is complete end to end");
  options.time("--timeout", values.pipeline.timeout,
               "an operation without progress for so long fails");
}

void add_sim_options(CLI::App& app, SimOptions& values) {
  std::vector<CLI::Option*> choices = add_pattern_options(app, values.pattern);
  Options options(app);
  options.text("--system", values.system, "hoccl or nccl:<k>sm");
  choices.push_back(options.size("-b,--begin", values.begin, "smallest size"));
  choices.push_back(options.size("-e,--end", values.end, "largest size"));
  choices.push_back(options.integer("-f,--factor", values.factor, 2, 1 << 20, "size step"));
  CLI::Option* plan =
      options.file("--plan", values.plan_file, "run a saved schedule, which fixes the size");
  for (CLI::Option* choice : choices) plan->excludes(choice);
  add_pipeline_options(app, values);
  options.text("--network", values.network, "fluid or cm02");
  options.text("--calibration", values.calibration,
               "h800, h200, gb200 or a .toml file; default: the topology's");
  options.list("--set", values.assignments, "key=value: replaces one calibration constant");
  options.integer<std::uint64_t>(
      "--seed", values.seed, 0, std::numeric_limits<std::uint64_t>::max(),
      "recorded with the results; the simulator draws no random numbers yet");
  options.integer("--warmup", values.warmup, 0, 1000000,
                  "iterations first; the very first one exports and imports buffers");
  options.integer("--iterations", values.iterations, 1, 1000000, "measured iterations (mean)");
  options.integer("--jobs", values.jobs, 1, kMaxJobs, "sizes simulated at a time");
  options.file("--csv", values.csv_file, "write the table as CSV");
  options.file("--json", values.json_file, "write the table as JSON");
  options.file("--trace", values.trace_file,
               "write the timeline of one size, for ui.perfetto.dev (.csv: as CSV)");
  app.add_flag("--print-calibration", values.print_calibration,
               "show every constant with its source, and stop");
}
#endif

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

/// Returns help to print, if asked for.
std::optional<HelpText> parse(CLI::App& app, const std::vector<std::string>& words) {
  // CLI11 takes the words last first, without program and verb.
  std::vector<std::string> reversed(words.rbegin(), words.rend() - 1);
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    return HelpText{app.help()};
  } catch (const CLI::ParseError& error) {
    throw ConfigError(fmt::format("{} {}: {}; expected what '{} {} --help' lists", kProgram,
                                  words.front(), one_line(error.what()), kProgram, words.front()));
  }
  return std::nullopt;
}

template <class Values>
Verb parse_verb(const std::vector<std::string>& words, const std::string& description,
                void (*add_options)(CLI::App&, Values&), Values values) {
  CLI::App app(description, fmt::format("{} {}", kProgram, words.front()));
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::Throw);
  add_options(app, values);
  if (auto help = parse(app, words)) return *help;
  return values;
}

}  // namespace

Verb parse_command_line(const std::vector<std::string>& words) {
  if (words.empty()) throw ConfigError(fmt::format("hoccl: no verb; expected {}", kVerbs));
  const std::string& verb = words.front();
  if (verb == "--help" || verb == "-h") return HelpText{std::string(kUsage)};
  if (verb == "--version") return HelpText{fmt::format("hoccl {}\n", HOCCL_VERSION)};
  if (verb == "plan") {
    return parse_verb(words, "Compiles a pattern for a topology and shows the schedule.",
                      add_plan_options, PlanOptions{});
  }
#ifdef HOCCL_WITH_SIM
  if (verb == "sim") {
    SimOptions values;
    values.command = fmt::format("{} {}", kProgram, fmt::join(words, " "));
    return parse_verb(words, "Simulates a pattern or a saved schedule.", add_sim_options, values);
  }
#endif
  throw ConfigError(fmt::format("hoccl: unknown verb '{}'; expected {}", verb, kVerbs));
}

}  // namespace hoccl::cli
