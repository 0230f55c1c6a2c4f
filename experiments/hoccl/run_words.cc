#include "experiments/hoccl/run_words.h"

#include <fmt/format.h>

namespace hoccl::cli {
namespace {

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
  const PatternOptions& pattern = work.pattern;
  words.add_text("--topology", pattern.topology);
  if (work.plan_file.empty()) {
    if (pattern.ranks) words.add("--ranks", *pattern.ranks);
    words.add("--pattern", pattern.pattern);
    words.add("--from", pattern.from);
    words.add("--to", pattern.to);
    words.add("--rails", pattern.rails);
    words.add("--chunk", to_string(pattern.chunk));
    words.add("--forwarding", pattern.forwarding);
    words.add("--begin", to_string(work.begin));
    words.add("--end", to_string(work.end));
    words.add("--factor", work.factor);
  }
  words.add_text("--plan", work.plan_file);
  words.add("--slots", work.slots);
  words.add("--qps", work.pipeline.queue_pairs);
  words.add("--nic-depth", work.pipeline.nic_depth);
  words.add("--streams", work.pipeline.streams);
  words.add("--quantum", work.pipeline.quantum);
  words.add("--batch", work.pipeline.batch);
  words.add("--timeout", engine::to_string(work.pipeline.timeout));
}

void add_measure(Words& words, const MeasureOptions& measure) {
  words.add("--copy", measure.copy);
  words.add("--link", measure.link);
  if (measure.link_rate) words.add("--link-rate", to_string(*measure.link_rate));
  if (measure.link_delay) words.add("--link-delay", engine::to_string(*measure.link_delay));
  words.add("--seed", measure.seed);
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
