#include "experiments/hoccl/run_words.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace hoccl::cli {
namespace {

/// Those with a value that say what is moved, as verb_options.cc adds them.
constexpr std::array<std::string_view, 21> kPatternOptions = {
    "--topology",   "--ranks",     "--pattern", "--group",     "--from",  "--to",
    "--root",       "--self-copy", "--matrix",  "--algorithm", "--nics",  "--nodes-per-stage-in",
    "--forwarding", "--rails",     "--order",   "--quantise",  "--chunk", "--seed",
    "--begin",      "--end",       "--factor"};

/// Appends an option and its value.
class Words {
 public:
  template <class Value>
  void add(const char* option, const Value& value) {
    words_.emplace_back(option);
    words_.push_back(fmt::format("{}", value));
  }
  /// Nothing when the text is empty: that is the option's default.
  void add_text(const char* option, const std::string& text) {
    if (!text.empty()) add(option, text);
  }
  void add_flag(const char* option) { words_.emplace_back(option); }
  [[nodiscard]] std::vector<std::string> take() { return std::move(words_); }

 private:
  std::vector<std::string> words_ = {"run"};
};

void add_work(Words& words, const WorkOptions& work) {
  // As given: what a pattern has no use for is refused, even with its default.
  for (const std::string_view option : kPatternOptions) {
    const auto given = work.pattern.given.find(std::string(option));
    if (given != work.pattern.given.end()) words.add(given->first.c_str(), given->second);
  }
  if (work.pattern.in_place) words.add_flag("--in-place");
  words.add_text("--plan", work.plan_file);
  words.add("--slots", work.slots);
  words.add("--qps", work.pipeline.queue_pairs);
  words.add("--nic-depth", work.pipeline.nic_depth);
  words.add("--streams", work.pipeline.streams);
  words.add("--quantum", work.pipeline.quantum);
  words.add("--batch", work.pipeline.batch);
  if (work.pipeline.barrier) words.add_flag("--barrier");
  words.add("--overlap", work.pipeline.overlap ? "on" : "off");
  words.add("--interleave", work.pipeline.interleave ? "on" : "off");
  words.add("--slack-fill", work.pipeline.slack_fill ? "on" : "off");
  words.add("--timeout", engine::to_string(work.pipeline.timeout));
}

void add_measure(Words& words, const MeasureOptions& measure) {
  words.add("--copy", measure.copy);
  words.add("--link", measure.link);
  if (measure.link_rate) words.add("--link-rate", to_string(*measure.link_rate));
  if (measure.link_delay) words.add("--link-delay", engine::to_string(*measure.link_delay));
  words.add("--ranks-as", measure.ranks_as);
  words.add("--gates", measure.gates);
  words.add_text("--devices", measure.devices);
  if (measure.strict) words.add_flag("--strict");
  if (measure.prove) words.add_flag("--prove");
  words.add("--warmup", measure.warmup);
  if (measure.iterations) words.add("--iterations", *measure.iterations);
  words.add("--rounds", measure.rounds);
  if (measure.check) words.add_flag("--check");
}

}  // namespace

std::vector<std::string> run_words(const RunOptions& options) {
  Words words;
  add_work(words, options.work);
  add_measure(words, options.measure);
  words.add_text("--csv", options.output.csv_file);
  words.add_text("--json", options.output.json_file);
  words.add_text("--trace", options.output.trace_file);
  return words.take();
}

}  // namespace hoccl::cli
