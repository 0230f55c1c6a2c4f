#include "tests/hw/job/hw_job.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "engine/base/check.h"
#include "engine/schedule/plan_json.h"
#include "tests/hw/job/status_format.h"

namespace hoccl::hw {

using engine::Plan;
using engine::Rank;
using engine::Region;
using engine::Seconds;
using engine::SendRecvRequest;
using engine::StreamId;
using engine::WorkReference;

namespace {

/// For what has no reason to take long, sanitizers and a crowded machine included.
constexpr Seconds kGenerous(25.0);

bool all_true(const std::vector<bool>& values) {
  return std::ranges::all_of(values, [](bool value) { return value; });
}

void enqueue_delay(HwRanks& ranks, Rank rank, StreamId stream, Seconds time) {
  ranks.call(rank, [stream, time](RankUnderTest& target) {
    target.fabric().enqueue_callback(stream, [time] { std::this_thread::sleep_for(time); });
  });
}

}  // namespace

JobSettings job_settings(const engine::FabricSettings& settings, LinkKind link) {
  HOCCL_CHECK(settings.send_slots == settings.receive_slots, "{} send slots, {} receive slots",
              settings.send_slots, settings.receive_slots);
  JobSettings result{
      engine::resolve_topology(settings.topology).with_ranks(settings.ranks), {}, {}, {}, true, {}};
  result.options.link = link;
  result.options.slots = settings.send_slots;
  result.options.slot_size = settings.slot_size;
  result.compile.chunk_size = settings.slot_size;
  return result;
}

HwFabricUnderTest::HwFabricUnderTest(JobSettings settings, Living living)
    : ranks_(std::move(settings), living) {
  for (int i = 0; i < ranks_.count(); ++i) {
    ports_.push_back(std::make_unique<RemotePort>(ranks_, Rank(i)));
  }
}

void HwFabricUnderTest::delay(Rank rank, StreamId stream, Seconds time) {
  enqueue_delay(ranks_, rank, stream, time);
}

void HwFabricUnderTest::run(std::span<engine::Proxy* const> proxies) {
  HOCCL_CHECK(proxies.empty(), "{} proxies away from their ranks", proxies.size());
  const auto all_idle = [this] {
    return all_true(ranks_.call_all([](RankUnderTest& rank) {
      rank.fabric().progress();
      return rank.fabric().idle();
    }));
  };
  if (!HwRanks::settle(all_idle, kGenerous)) throw RankFailed("the ranks do not become idle");
}

WorkReference HwJob::enqueue(Rank rank, int communicator, const std::vector<SendRecvRequest>& group,
                             StreamId stream) {
  std::string requests;
  for (const SendRecvRequest& request : group) append(requests, request);
  const auto enqueue = [communicator, stream](RankUnderTest& target, std::string_view payload) {
    std::vector<SendRecvRequest> here;
    while (!payload.empty()) here.push_back(take<SendRecvRequest>(payload));
    return target.remember(target.communicator(communicator).enqueue(here, stream));
  };
  return {rank, ranks_.call(rank, enqueue, requests)};
}

WorkReference HwJob::run_plan(Rank rank, int communicator, const std::shared_ptr<const Plan>& plan,
                              const Region& send_buffer, const Region& receive_buffer,
                              StreamId stream) {
  const auto run = [communicator, send_buffer, receive_buffer, stream](RankUnderTest& target,
                                                                       std::string_view payload) {
    auto here = std::make_shared<const Plan>(engine::plan_from_json(payload, "plan"));
    return target.remember(
        target.communicator(communicator).run(here, send_buffer, receive_buffer, stream));
  };
  return {rank, ranks_.call(rank, run, engine::plan_to_json(*plan))};
}

void HwJob::delay(Rank rank, StreamId stream, Seconds time) {
  enqueue_delay(ranks_, rank, stream, time);
}

void HwJob::abort(Rank rank, int communicator) {
  ranks_.call(rank,
              [communicator](RankUnderTest& target) { target.communicator(communicator).abort(); });
}

std::optional<engine::Status> HwJob::status(const WorkReference& work) {
  return decode_status(ranks_.call(work.rank, [index = work.index](RankUnderTest& target) {
    return encode(target.status(index));
  }));
}

bool HwJob::all_end_within(Seconds time) {
  return all_true(ranks_.call_all([time](RankUnderTest& rank) { return rank.await_works(time); }));
}

void HwJob::run() {
  if (all_end_within(kGenerous)) (void)quiescent();
}

bool HwJob::quiescent() {
  const auto all_quiescent = [this] {
    return all_true(ranks_.call_all([](RankUnderTest& rank) { return rank.quiescent(); }));
  };
  return HwRanks::settle(all_quiescent, kGenerous);
}

}  // namespace hoccl::hw
