#include "tests/hw/conformance/broken_job.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace hoccl::hw {

using engine::Bytes;
using engine::Rank;
using engine::Region;
using engine::SendRecvRequest;
using engine::Status;
using engine::StreamId;

namespace {

/// Large enough to be caught in the middle of a copy.
constexpr Bytes kChunk(std::int64_t{256} << 10);
/// More chunks than there are slots.
constexpr Bytes kMessage = kChunk * 12;
constexpr int kSlots = 4;
/// Issue: a lost peer is reported on every rank within this time.
constexpr engine::Seconds kReportTime(2.0);

Rank rank_of(Role role, bool direct) {
  switch (role) {
    case Role::kSource:
      return Rank(0);
    case Role::kTarget:
      return Rank(direct ? 1 : 5);
    case Role::kSendRelay:
      return Rank(1);
    case Role::kReceiveRelay:
      return Rank(4);
  }
  return Rank::none();
}

JobSettings settings_for(SeamEvent event, bool direct) {
  engine::FabricSettings fabric;
  fabric.slot_size = kChunk;
  fabric.send_slots = kSlots;
  fabric.receive_slots = kSlots;
  JobSettings settings = job_settings(fabric, LinkKind::kLoopback);
  SeamTrap trap;
  trap.rank = rank_of(observer_of(event), direct);
  trap.event = event;
  // In the middle of the message; a message has one Ready.
  trap.count = event == SeamEvent::kReadyPolled ? 1 : 2;
  trap.action = TrapAction::kHold;
  settings.trap = trap;
  return settings;
}

}  // namespace

std::string_view to_string(Role role) {
  switch (role) {
    case Role::kSource:
      return "Source";
    case Role::kTarget:
      return "Target";
    case Role::kSendRelay:
      return "SendRelay";
    case Role::kReceiveRelay:
      return "ReceiveRelay";
  }
  return "?";
}

Role observer_of(SeamEvent event) {
  switch (event) {
    case SeamEvent::kReadyPolled:
    case SeamEvent::kGrantPolled:
    case SeamEvent::kStageInPosted:
    case SeamEvent::kDirectPosted:
      return Role::kSource;
    case SeamEvent::kStagedPolled:
    case SeamEvent::kWritePosted:
      return Role::kSendRelay;
    case SeamEvent::kArrivedPolled:
      return Role::kReceiveRelay;
    case SeamEvent::kLandedPolled:
    case SeamEvent::kDeliverPosted:
      return Role::kTarget;
  }
  std::abort();  // all events are above
}

BrokenJob::BrokenJob(Living living, SeamEvent event)
    : direct_(event == SeamEvent::kDirectPosted),
      job_(settings_for(event, direct_), living),
      broken_{rank_of(Role::kSource), rank_of(Role::kTarget), kCommunicator, 1, {}, {}, {}},
      other_{Rank(2), Rank(7), kOther, 2, {}, {}, {}} {}

Rank BrokenJob::rank_of(Role role) const { return hw::rank_of(role, direct_); }

void BrokenJob::enqueue(Message& message) {
  const auto buffer = [this](Rank owner) {
    return Region{job_.allocate(owner, kMessage), Bytes(0), kMessage};
  };
  const Region sent = buffer(message.source);
  message.received = buffer(message.target);
  job_.fill(sent, message.pattern);
  // The one that sets everything going comes last: from then on, ranks may die.
  message.send = job_.enqueue(message.source, message.communicator,
                              {{SendRecvRequest::Side::kSend, message.target, sent}}, StreamId(0));
  message.receive = job_.enqueue(
      message.target, message.communicator,
      {{SendRecvRequest::Side::kReceive, message.source, message.received}}, StreamId(0));
}

void BrokenJob::enqueue_messages() {
  enqueue(other_);
  enqueue(broken_);
}

void BrokenJob::expect_ok(const Message& message) {
  for (const engine::WorkReference& work : {message.send, message.receive}) {
    const std::optional<Status> status = job_.status(work);
    ASSERT_TRUE(status.has_value()) << "rank " << work.rank.value();
    EXPECT_TRUE(status->ok()) << to_string(*status);
  }
  EXPECT_TRUE(job_.holds(message.received, message.pattern));
}

void BrokenJob::expect_survivors_end(Rank lost,
                                     const std::function<bool(const Status&)>& is_expected) {
  EXPECT_TRUE(job_.all_end_within(kReportTime));
  for (const engine::WorkReference& work : {broken_.send, broken_.receive}) {
    if (work.rank == lost) continue;
    const std::optional<Status> status = job_.status(work);
    ASSERT_TRUE(status.has_value()) << "rank " << work.rank.value();
    if (!status->ok()) {
      EXPECT_TRUE(is_expected(*status)) << to_string(*status);
    } else if (work.rank == broken_.target) {
      EXPECT_TRUE(job_.holds(broken_.received, broken_.pattern));
    }
  }
  expect_ok(other_);
  Message next = other_;
  next.pattern = 3;
  enqueue(next);
  EXPECT_TRUE(job_.all_end_within(kReportTime));
  expect_ok(next);
  EXPECT_TRUE(job_.quiescent());
}

}  // namespace hoccl::hw
