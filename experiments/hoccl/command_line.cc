#include "experiments/hoccl/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string_view>

#include "engine/base/config_error.h"
#include "experiments/hoccl/options.h"
#include "experiments/hoccl/verb_options.h"

namespace hoccl::cli {
namespace {

using engine::ConfigError;

constexpr std::string_view kProgram = "hoccl";
#ifdef HOCCL_WITH_SIM
constexpr std::string_view kVerbs = "plan, sim, run, validate, train, calibrate or doctor";
#else
constexpr std::string_view kVerbs = "plan, run, calibrate or doctor (this build has no simulation)";
#endif

constexpr std::string_view kUsage =
    "hoccl: collective communication on copy engines and RDMA\n"
    "usage: hoccl <verb> [options]\n"
    "verbs:\n"
    "  plan      compile a pattern for a topology and show the schedule\n"
#ifdef HOCCL_WITH_SIM
    "  sim       simulate a pattern or a saved schedule\n"
#endif
    "  run       run it with real processes, and measure\n"
#ifdef HOCCL_WITH_SIM
    "  validate  simulate and measure it, side by side\n"
    "  train     simulate a training step\n"
#endif
    "  calibrate measure a GPU of this machine, write the model's constants\n"
    "  doctor    what this machine offers, and what to do about each problem\n"
    "hoccl <verb> --help lists a verb's options, hoccl --version the version.\n";

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

/// Without "Excludes: --plan" at every option: --plan itself says it once.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string text = CLI::Formatter::make_option_opts(option);
    return text.substr(0, text.find(" Excludes:"));
  }
};

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
  app.formatter(std::make_shared<HelpFormatter>());
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::Throw);
  add_options(app, values);
  if (auto help = parse(app, words)) return *help;
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0) continue;
    pattern_options(values).given.emplace(option->get_name(), option->results().front());
  }
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
  if (verb == "run") {
    RunOptions values;
    values.words = words;
    return parse_verb(words, "Runs a pattern or a saved schedule with real processes.",
                      add_run_options, values);
  }
  if (verb == "doctor") {
    return parse_verb(words, "Shows what this machine offers and what to do about each problem.",
                      add_doctor_options, DoctorOptions{});
  }
  if (verb == "calibrate") {
    CalibrateOptions values;
    values.words = words;
    return parse_verb(
        words,
        "Measures a GPU and writes the constants of the model; or times what it costs "
        "to register memory with an RDMA device.",
        add_calibrate_options, values);
  }
#ifdef HOCCL_WITH_SIM
  const std::string command = fmt::format("{} {}", kProgram, fmt::join(words, " "));
  if (verb == "sim") {
    SimOptions values;
    values.command = command;
    return parse_verb(words, "Simulates a pattern or a saved schedule.", add_sim_options, values);
  }
  if (verb == "validate") {
    ValidateOptions values;
    values.command = command;
    return parse_verb(words, "Simulates and measures the same schedule, side by side.",
                      add_validate_options, values);
  }
  if (verb == "train") {
    TrainOptions values;
    values.work.pattern.topology = kTrainingTopology;
    // A stage may wait for others as long as a step takes: what waits for ever ends all the same.
    values.work.pipeline.timeout = engine::Seconds(3600.0);
    values.command = command;
    return parse_verb(words, "Simulates a training step of a model.", add_train_options, values);
  }
#endif
  throw ConfigError(fmt::format("hoccl: unknown verb '{}'; expected {}", verb, kVerbs));
}

}  // namespace hoccl::cli
