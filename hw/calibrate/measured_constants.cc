#include "hw/calibrate/measured_constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "engine/fabric.h"
#include "hw/calibrate/fits.h"
#include "hw/calibrate/number_text.h"
#include "hw/calibrate/what_is_measured.h"

namespace hoccl::hw {

using engine::Bytes;
using engine::BytesPerSecond;
using engine::CopyClass;
using engine::Seconds;

namespace {

/// How one value was measured, for its source.
struct Evidence {
  std::size_t count = 0;
  double spread = 0.0;

  void add(const Summary& summary) {
    count += summary.count;
    spread = std::max(spread, summary.spread());
  }
};

/// Writes the constants; each function returns without a word where samples are missing.
class Deriver {
 public:
  Deriver(const Samples& samples, const engine::Topology& topology)
      : samples_(samples), topology_(topology) {}

  std::vector<MeasuredConstant> derive() {
    derive_calls();
    // D2H first: the others take its completion latency.
    derive_class(CopyClass::kDeviceToHost);
    derive_class(CopyClass::kHostToDevice);
    derive_class(CopyClass::kPeer);
    derive_pcie();
    derive_nvlink();
    derive_gates();
    derive_proxy();
    return std::move(constants_);
  }

 private:
  void put(std::string key, std::string value, const Evidence& evidence, std::string_view how) {
    const MeasuredMachine& machine = samples_.machine;
    constants_.push_back(
        {std::move(key), std::move(value),
         fmt::format("measured on {}, driver {}, CUDA {}, {}, n = {}, spread {}%: {}",
                     machine.device, machine.driver, machine.toolkit, machine.date, evidence.count,
                     digits(evidence.spread * 100.0, 1), how)});
  }

  std::optional<Seconds> median(const SeriesKey& key, Evidence& evidence) const {
    const Samples::Series* series = samples_.find(key);
    if (series == nullptr) return std::nullopt;
    const Summary summary = summarise(*series);
    evidence.add(summary);
    return summary.median;
  }

  /// A constant that is one median. Returns it, for sums that need it.
  std::optional<Seconds> put_median(std::string key, const SeriesKey& series,
                                    std::string_view how) {
    Evidence evidence;
    const std::optional<Seconds> value = median(series, evidence);
    if (value) put(std::move(key), in_us(*value), evidence, how);
    return value;
  }

  /// What `call` of the driver takes proxies at work, where that was measured, else in a loop.
  /// Returns the latter, for the sums of what was timed there.
  std::optional<Seconds> put_call(const std::string& name, const SeriesKey& loop,
                                  std::string_view call, std::string_view where) {
    Evidence loop_evidence;
    const std::optional<Seconds> in_loop = median(loop, loop_evidence);
    Evidence evidence;
    if (const auto in_use = median({kCallInUse, name}, evidence)) {
      put("cpu." + name, in_us(*in_use), evidence,
          fmt::format("{} by proxies at work with chunks of 64KiB, means of runs{}", call,
                      in_loop ? fmt::format("; {} in a loop", in_us(*in_loop)) : ""));
    } else if (in_loop) {
      put("cpu." + name, in_us(*in_loop), loop_evidence, fmt::format("{} {}", call, where));
    }
    return in_loop;
  }

  void derive_calls();
  void derive_class(CopyClass copy_class);
  void derive_engine(const std::string& group, const std::string& name);
  void derive_batches(const std::string& group, const std::string& name, Seconds setup);
  void derive_concurrency(const std::string& group, const std::string& name);
  void derive_posts(const std::string& suffix, const std::string& name);
  void derive_latencies(const std::string& group, const std::string& name);
  void derive_lock();
  void derive_pcie();
  void derive_nvlink();
  void derive_gates();
  void derive_proxy();
  void put_share(std::string key, double share, const Evidence& evidence, std::string how);

  /// Of plain copies; none when there are too few sizes.
  struct EngineFit {
    TransferFit fit;
    Evidence evidence;
  };
  [[nodiscard]] std::optional<EngineFit> fit_engine(const std::string& name) const;

  const Samples& samples_;
  const engine::Topology& topology_;
  std::vector<MeasuredConstant> constants_;
  // What the sum of a small copy's latency is made of.
  std::optional<Seconds> query_copies_;
  std::optional<Seconds> poll_copies_;
  std::optional<Seconds> completion_;  ///< of D2H; the others cannot be told apart
  std::optional<Seconds> setup_;       ///< of the class at hand
  std::optional<Seconds> post_copy_;
};

void Deriver::derive_calls() {
  const std::string first(to_string(CopyClass::kDeviceToHost));
  put_call("post_event", {kEventCall, first, kCallSize}, "cudaEventRecord",
           "behind a copy in a busy stream");
  query_copies_ = put_call("query_copies", {kQueryPending, first, kSignalSize, 1}, "cudaEventQuery",
                           "of a pending event");
  poll_copies_ = put_call("poll_copies", {kQueryDone, first, kSignalSize, 1}, "cudaEventQuery",
                          "that is the first to find the event done");
  derive_lock();
}

void Deriver::derive_lock() {
  Evidence evidence;
  Seconds sum{0.0};
  std::string parts;
  for (const char* kind : kLockKinds) {
    const auto turn = median({kLockTime, kind, Bytes(0), kLockThreads}, evidence);
    if (!turn) return;
    sum += *turn;
    parts += fmt::format("{} {}, ", kind, in_us(*turn));
  }
  put("cpu.driver_lock", in_us(sum / static_cast<double>(kLockKinds.size())), evidence,
      fmt::format("{} threads of one process make calls only: {}their mean", kLockThreads, parts));
}

std::optional<Deriver::EngineFit> Deriver::fit_engine(const std::string& name) const {
  EngineFit result;
  std::vector<TransferTime> times;
  for (const Bytes size : kEngineSizes) {
    if (size < kSmallestFitted) continue;
    if (const auto time = median({kEngineTime, name, size, 1}, result.evidence)) {
      times.push_back({size, 1, *time});
    }
  }
  if (times.size() < 2) return std::nullopt;
  result.fit = fit_copies(times);
  return result;
}

void Deriver::derive_class(CopyClass copy_class) {
  const std::string name(to_string(copy_class));
  const std::string group = "copy_engine" + constant_suffix(copy_class);
  setup_.reset();
  post_copy_.reset();
  derive_posts(constant_suffix(copy_class), name);
  derive_engine(group, name);
  derive_concurrency(group, name);
  derive_latencies(group, name);
}

void Deriver::derive_engine(const std::string& group, const std::string& name) {
  const std::optional<EngineFit> engine = fit_engine(name);
  if (!engine) return;
  const Seconds exposed = std::max(engine->fit.start, Seconds(0.0));
  // The shortest copies that surely run on the engine.
  Evidence evidence;
  const Bytes small = kSmallestFitted;
  const std::optional<Seconds> spacing = median({kEngineTime, name, small, 1}, evidence);
  double overlap = 0.0;
  if (spacing) overlap = fit_setup_overlap(exposed, *spacing, small / engine->fit.rate);
  setup_ = overlap > 0.0 ? *spacing : exposed;
  put(group + ".setup", in_us(*setup_), engine->evidence,
      fmt::format("copies of {} to {} back to back in one stream take setup + size / {}, within "
                  "{}%",
                  engine::to_string(kSmallestFitted), engine::to_string(kEngineSizes.back()),
                  in_gigabytes(engine->fit.rate), digits(engine->fit.worst_error * 100.0, 1)));
  put(group + ".setup_overlap", digits(overlap, 3), engine->evidence,
      fmt::format("large copies back to back show {} of set-up, {} take {} each", in_us(exposed),
                  engine::to_string(small), in_us(spacing.value_or(exposed))));
  derive_batches(group, name, *setup_);
}

void Deriver::derive_batches(const std::string& group, const std::string& name, Seconds setup) {
  Evidence evidence;
  std::vector<TransferTime> times;
  for (const Bytes size : kBatchSizes) {
    for (const int count : kBatchCounts) {
      if (const auto time = median({kBatchTime, name, size, count}, evidence)) {
        times.push_back({size, count, *time});
      }
    }
  }
  if (times.size() < 4) return;
  const TransferFit fit = fit_batches(times);
  put(group + ".setup_in_batch", in_us(fit.each), evidence,
      fmt::format(
          "cudaMemcpyBatchAsync of 2 to 64 copies of {} to {}: {} per batch, this per copy, "
          "{}, within {}%; alone a copy's set-up is {}",
          engine::to_string(kBatchSizes.front()), engine::to_string(kBatchSizes.back()),
          in_us(fit.start), in_gigabytes(fit.rate), digits(fit.worst_error * 100.0, 1),
          in_us(setup)));
}

void Deriver::derive_concurrency(const std::string& group, const std::string& name) {
  Evidence evidence;
  std::vector<Seconds> ends;
  for (int place = 1; place <= kStreamEndCount; ++place) {
    if (const auto end = median({kStreamEnd, name, kStreamEndSize, place}, evidence)) {
      ends.push_back(*end);
    }
  }
  if (ends.size() != kStreamEndCount) return;
  put(group + ".concurrency", fmt::format("{}", fit_concurrency(ends)), evidence,
      fmt::format("of {} copies of {} in as many streams the first ends after {} of the time of "
                  "all",
                  kStreamEndCount, engine::to_string(kStreamEndSize),
                  digits(ends.front() / ends.back(), 3)));
}

void Deriver::derive_posts(const std::string& suffix, const std::string& name) {
  post_copy_ = put_call("post_copy" + suffix, {kCopyCall, name, kCallSize}, "cudaMemcpyAsync",
                        "of 256 KiB into a busy stream");
  Evidence evidence;
  std::vector<CallTime> calls;
  for (const int count : kBatchCounts) {
    if (const auto time = median({kBatchCall, name, kCallSize, count}, evidence)) {
      calls.push_back({count, *time});
    }
  }
  if (calls.size() < 2) return;
  const CallFit fit = fit_calls(calls);
  Evidence in_use;
  const auto batch = median({kCallInUse, "post_batch" + suffix}, in_use);
  const auto copy = median({kCallInUse, "post_copy_in_batch" + suffix}, in_use);
  if (batch && copy) {
    const std::string by_proxies = fmt::format(
        "cudaMemcpyBatchAsync, by proxies at work, takes {} + count x {}; in a loop {} + count x "
        "{}",
        in_us(*batch), in_us(*copy), in_us(fit.start), in_us(fit.each));
    put("cpu.post_batch" + suffix, in_us(*batch), in_use, by_proxies);
    put("cpu.post_copy_in_batch" + suffix, in_us(*copy), in_use, by_proxies);
    return;
  }
  const std::string how =
      fmt::format("cudaMemcpyBatchAsync of 2 to 64 copies takes {} + count x {}, within {}%",
                  in_us(fit.start), in_us(fit.each), digits(fit.worst_error * 100.0, 1));
  put("cpu.post_batch" + suffix, in_us(fit.start), evidence, how);
  put("cpu.post_copy_in_batch" + suffix, in_us(fit.each), evidence, how);
}

/// The time from the call of a copy to the CPU's knowledge of its end is the sum of post_copy,
/// launch, setup, size / rate, completion, poll_copies and half of query_copies, as the end comes
/// while a query is under way; the event is recorded meanwhile. D2H alone shows where completion
/// begins: when the last word is in host memory.
void Deriver::derive_latencies(const std::string& group, const std::string& name) {
  const std::optional<EngineFit> engine = fit_engine(name);
  if (!engine || !setup_ || !post_copy_ || !query_copies_ || !poll_copies_) return;
  Evidence data_evidence;
  Evidence evidence;
  Seconds launch_sum{0.0};
  Seconds completion_sum{0.0};
  int data_count = 0;
  std::vector<std::pair<Bytes, Seconds>> seen;
  for (const Bytes size : kLatencySizes) {
    if (size < kSmallestFitted) continue;
    const auto done = median({kDoneSeen, name, size, 1}, evidence);
    if (!done) continue;
    seen.emplace_back(size, *done);
    if (const auto data = median({kDataSeen, name, size, 1}, data_evidence)) {
      completion_sum += *done - *data - *query_copies_ / 2.0 - *poll_copies_;
      ++data_count;
    }
  }
  if (seen.empty()) return;
  if (data_count > 0) {
    completion_ = std::max(Seconds(0.0), completion_sum / data_count);
    put(group + ".completion_latency", in_us(*completion_), data_evidence,
        "from the last word in host memory to the event query that says done, less half of "
        "cpu.query_copies and cpu.poll_copies");
  } else if (completion_) {
    put(group + ".completion_latency", in_us(*completion_), evidence,
        "as copy_engine_d2h.completion_latency: the other classes do not show where it begins");
  }
  if (!completion_) return;
  for (const auto& [size, done] : seen) {
    launch_sum += done - *post_copy_ - *setup_ - size / engine->fit.rate - *completion_ -
                  *query_copies_ / 2.0 - *poll_copies_;
  }
  const Seconds launch = launch_sum / static_cast<double>(seen.size());
  put(group + ".launch_latency", in_us(launch), evidence,
      fmt::format(
          "copies of {} to {} on an idle engine, from the call to the event query that says "
          "done ({} for {}), less all other terms of that time{}",
          engine::to_string(seen.front().first), engine::to_string(seen.back().first),
          in_us(seen.front().second), engine::to_string(seen.front().first),
          launch < Seconds(0.0) ? fmt::format(": {:.3f} us, so none", engine::microseconds(launch))
                                : ""));
}

void Deriver::derive_pcie() {
  const auto to_host = fit_engine("d2h");
  const auto from_host = fit_engine("h2d");
  if (!to_host || !from_host) return;
  Evidence evidence = to_host->evidence;
  evidence.count += from_host->evidence.count;
  evidence.spread = std::max(evidence.spread, from_host->evidence.spread);
  const double mean = (to_host->fit.rate.value() + from_host->fit.rate.value()) / 2.0;
  const double share = mean / topology_.pcie().one_way.value();
  const CopyRates d2h = copy_rates(samples_, "d2h");
  const CopyRates h2d = copy_rates(samples_, "h2d");
  std::string how = fmt::format(
      "pinned memory, D2H {}, H2D {}, both at once {} and {}; share of the topology's one-way rate "
      "({}, {} both "
      "ways), which scales the latter, too",
      in_gigabytes(to_host->fit.rate), in_gigabytes(from_host->fit.rate),
      in_gigabytes(d2h.both_ways), in_gigabytes(h2d.both_ways),
      in_gigabytes(topology_.pcie().one_way), in_gigabytes(topology_.pcie().duplex_each));
  put_share("pcie.efficiency", share, evidence, std::move(how));
}

void Deriver::derive_nvlink() {
  const auto peer = fit_engine("peer");
  if (!peer) return;
  put_share("nvlink.efficiency", peer->fit.rate / topology_.nvlink().out, peer->evidence,
            fmt::format("copies to a peer {}; share of the topology's {}",
                        in_gigabytes(peer->fit.rate), in_gigabytes(topology_.nvlink().out)));
}

/// A share that the model can hold.
void Deriver::put_share(std::string key, double share, const Evidence& evidence, std::string how) {
  constexpr double kSmallest = 0.01;
  if (share > 1.0) how += fmt::format(": {}, but more than all is not modelled", digits(share, 4));
  put(std::move(key), digits(std::clamp(share, kSmallest, 1.0), 4), evidence, how);
}

void Deriver::derive_gates() {
  const auto key = [](const char* measurement) {
    return SeriesKey{measurement, kMemoryOperations, Bytes(0), 0, kModelConnections};
  };
  const auto ready_seen = put_median(
      "gate.ready_latency", key(kReadySeen),
      "cuStreamWriteValue64 on an idle stream, from the end of the call until a polling CPU sees "
      "the word");
  Evidence resume_evidence;
  const auto resume_seen = median(key(kResumeSeen), resume_evidence);
  if (ready_seen && resume_seen) {
    put("gate.resume_latency", in_us(*resume_seen - *ready_seen), resume_evidence,
        fmt::format("from the CPU's store until it sees the next write of the stream that waited "
                    "for it ({}), less gate.ready_latency",
                    in_us(*resume_seen)));
  }
  const auto ready = put_median("cpu.enqueue_ready", key(kReadyCall), "cuStreamWriteValue64");
  const auto wait =
      put_median("cpu.enqueue_wait", key(kWaitOpenCall), "cuStreamWaitValue64 of a closed gate");
  Evidence evidence;
  const auto launch = median({kLaunchCall, "sendrecv", 64_KiB, 2}, evidence);
  if (!ready || !wait || !launch) return;
  put("cpu.submit", in_us(*launch - *ready - *wait), evidence,
      fmt::format("a message of 64KiB is enqueued in {}, beside proxies of the same process that "
                  "use the driver, too, less cpu.enqueue_ready and cpu.enqueue_wait",
                  in_us(*launch)));
}

/// A proxy's own work. What the model charges alike was measured as one.
void Deriver::derive_proxy() {
  put_median("cpu.poll_empty", {kProxyWork, kIdleStep},
             "steps of proxies that found nothing, without the driver's time");
  const auto put_work = [&](std::string_view constant, const char* name, std::string_view what) {
    put_median(fmt::format("cpu.{}", constant), {kProxyWork, name},
               fmt::format("{}; fitted with the other pieces of a proxy's own work to the steps of "
                           "sendrecv and alltoall of 64KiB chunks, without the driver's time",
                           what));
  };
  put_work("post_local_message", "post_local_message", "a message or the write of a map wire");
  put_work("poll_message", "poll_message", "a completion that is not of copies");
  put_work("bookkeeping", "bookkeeping", "a state change of a chunk");
  put_work("plan_flow", "plan_flow", "a flow of an operation");
  put_work("open_gate", "notice", "a gate opened or a submission finished");
  put_work("finish", "notice", "a gate opened or a submission finished");
}

}  // namespace

std::vector<MeasuredConstant> measured_constants(const Samples& samples,
                                                 const engine::Topology& topology) {
  return Deriver(samples, topology).derive();
}

CopyRates copy_rates(const Samples& samples, const std::string& copy_class) {
  const auto rate = [&](const SeriesKey& key) {
    const Samples::Series* series = samples.find(key);
    return series == nullptr ? BytesPerSecond() : key.size / summarise(*series).median;
  };
  return {.one_way = rate({kEngineTime, copy_class, kEngineSizes.back(), 1}),
          .both_ways = rate({kDuplexTime, copy_class, kDuplexSize, 1})};
}

}  // namespace hoccl::hw
