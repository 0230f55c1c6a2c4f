#include "tests/hw/verbs/fault_job.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <utility>

namespace hoccl::hw {

using engine::Bytes;
using engine::Rank;
using engine::Region;
using engine::Seconds;
using engine::SendRecvRequest;
using engine::Status;
using engine::StreamId;

std::string devices_of(Rails rails) {
  return rails == Rails::kOne ? "rxe0/rxe1" : "rxe0,rxe2/rxe1,rxe3";
}

VerbsOptions impatient_options(Rails rails) {
  VerbsOptions options;
  options.devices = devices_of(rails);
  options.timeout = 16;
  options.retries = 2;
  options.probe_interval = Seconds(0.3);
  return options;
}

JobSettings fault_settings(int ranks, Rails rails, Bytes chunk) {
  engine::FabricSettings fabric;
  fabric.topology = "h800-2x2";
  fabric.ranks = ranks;
  fabric.slot_size = chunk;
  fabric.send_slots = 8;
  fabric.receive_slots = 8;
  JobSettings settings = job_settings(fabric, LinkKind::kVerbs);
  settings.options.verbs = impatient_options(rails);
  return settings;
}

FaultJob::FaultJob(int ranks, Rails rails, Bytes chunk)
    : job_(fault_settings(ranks, rails, chunk), Living::kProcess) {}

void FaultJob::enqueue(Message& message, Bytes size) {
  const auto buffer = [&](Rank owner) {
    return Region{job_.allocate(owner, size), Bytes(0), size};
  };
  const Region sent = buffer(message.source);
  message.received = buffer(message.target);
  job_.fill(sent, message.pattern);
  const StreamId stream(message.source.value() * ranks() + message.target.value());
  message.receive =
      job_.enqueue(message.target, 0,
                   {{SendRecvRequest::Side::kReceive, message.source, message.received}}, stream);
  message.send = job_.enqueue(message.source, 0,
                              {{SendRecvRequest::Side::kSend, message.target, sent}}, stream);
}

void FaultJob::enqueue(Bytes size) {
  const engine::Topology& topology = job_.topology();
  for (const Rank source : job_.ranks().living()) {
    for (const Rank target : job_.ranks().living()) {
      if (topology.node_of(source) != topology.node_of(target)) enqueue(source, target, size);
    }
  }
}

void FaultJob::enqueue(Rank source, Rank target, Bytes size) {
  Message& message = messages_.emplace_back();
  message.source = source;
  message.target = target;
  message.pattern = next_pattern_++;
  enqueue(message, size);
}

std::string FaultJob::look_at(const Message& message, Verdict& verdict) {
  const std::string name =
      fmt::format("the message from rank {} to rank {}", message.source, message.target);
  bool failed = false;
  for (const engine::WorkReference& work : {message.send, message.receive}) {
    if (!job_.ranks().alive(work.rank)) continue;
    const std::optional<Status> status = job_.status(work);
    if (!status) return name + " has no end on rank " + std::to_string(work.rank.value());
    failed = failed || !status->ok();
    if (!status->ok() && status->link.empty() && status->peer.is_none()) {
      return name + " failed without a reason: " + to_string(*status);
    }
    const bool is_there = work.rank == message.target && status->ok();
    if (is_there && !job_.holds(message.received, message.pattern)) return name + " is wrong";
  }
  (failed ? verdict.failed : verdict.right) += 1;
  return {};
}

FaultJob::Verdict FaultJob::judge(Seconds patience) {
  Verdict verdict;
  if (!job_.all_end_within(patience)) {
    verdict.wrong = fmt::format("not all messages end within {} s; ", patience.count());
  }
  for (const Message& message : messages_) {
    const std::string wrong = look_at(message, verdict);
    if (!wrong.empty()) verdict.wrong += wrong + "; ";
  }
  forget();
  return verdict;
}

void FaultJob::expect_all_right(Seconds patience) {
  const int count = static_cast<int>(messages_.size());
  const Verdict verdict = judge(patience);
  EXPECT_EQ(verdict.wrong, "");
  EXPECT_EQ(verdict.right, count);
}

void FaultJob::expect_all_fail(Seconds patience) {
  const int count = static_cast<int>(messages_.size());
  const Verdict verdict = judge(patience);
  EXPECT_EQ(verdict.wrong, "");
  EXPECT_EQ(verdict.failed, count);
}

void FaultJob::break_queue_pair(Rank rank, std::uint64_t index) {
  job_.ranks().call(rank, [index](RankUnderTest& at) { at.fabric().break_queue_pair(index); });
}

PacketLoss::PacketLoss(std::string interface, double percent) : interface_(std::move(interface)) {
  const ShellResult result =
      shell(fmt::format("tc qdisc replace dev {} root netem loss {}%", interface_, percent));
  EXPECT_EQ(result.status, 0) << result.output;
}

PacketLoss::~PacketLoss() {
  const ShellResult result = shell(fmt::format("tc qdisc del dev {} root", interface_));
  EXPECT_EQ(result.status, 0) << result.output;
}

ShellResult shell(const std::string& command) {
  ShellResult result;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return result;
  std::array<char, 4096> part{};
  while (const std::size_t count = std::fread(part.data(), 1, part.size(), pipe)) {
    result.output.append(part.data(), count);
  }
  const int status = ::pclose(pipe);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

std::int64_t counter(const std::string& device, const std::string& name) {
  std::ifstream file(fmt::format("/sys/class/infiniband/{}/ports/1/hw_counters/{}", device, name));
  std::int64_t value = -1;
  file >> value;
  return value;
}

}  // namespace hoccl::hw
