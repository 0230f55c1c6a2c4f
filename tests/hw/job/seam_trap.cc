#include "tests/hw/job/seam_trap.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <csignal>

#include "engine/base/check.h"
#include "engine/forwarding_port.h"
#include "engine/pipeline/messages.h"
#include "hw/system/system_error.h"

namespace hoccl::hw {
namespace {

using engine::Completion;
using engine::Leg;
using engine::MessageKind;
using engine::Seconds;

/// A proxy that is never released goes on after this long: its test has failed by then.
constexpr Seconds kLongestHold(20.0);

FileDescriptor make_event() {
  const int number = ::eventfd(0, EFD_CLOEXEC);
  if (number < 0) throw SystemError("make an eventfd");
  return FileDescriptor(number);
}

bool await(int event, Seconds timeout) {
  pollfd waiting{event, POLLIN, 0};
  return ::poll(&waiting, 1, static_cast<int>(timeout.count() * 1e3)) > 0;
}

void signal(int event) {
  const std::uint64_t one = 1;
  HOCCL_CHECK(::write(event, &one, sizeof(one)) == sizeof(one), "eventfd {}", event);
}

SeamEvent posted(Leg leg) {
  switch (leg) {
    case Leg::kStageIn:
      return SeamEvent::kStageInPosted;
    case Leg::kDirect:
      return SeamEvent::kDirectPosted;
    case Leg::kDeliver:
      return SeamEvent::kDeliverPosted;
  }
  HOCCL_CHECK(false, "leg {}", static_cast<int>(leg));
}

bool is_polled(const Completion& completion, SeamEvent event) {
  if (std::holds_alternative<engine::Arrived>(completion)) {
    return event == SeamEvent::kArrivedPolled;
  }
  const auto* message = std::get_if<engine::MessageArrived>(&completion);
  if (message == nullptr) return false;
  const MessageKind kind = engine::kind_of(message->message);
  return (kind == MessageKind::kReady && event == SeamEvent::kReadyPolled) ||
         (kind == MessageKind::kLeaseGrant && event == SeamEvent::kGrantPolled) ||
         (kind == MessageKind::kStaged && event == SeamEvent::kStagedPolled) ||
         (kind == MessageKind::kLanded && event == SeamEvent::kLandedPolled);
}

class TrappedPort final : public engine::ForwardingPort {
 public:
  TrappedPort(engine::Port& port, const SeamTrap& trap, const TrapLine& line)
      : ForwardingPort(port), trap_(trap), line_(line) {}

  engine::Ticket post_copy(engine::Lane lane, const engine::CopyRequest& request) override {
    const engine::Ticket ticket = ForwardingPort::post_copy(lane, request);
    if (posted(request.leg) == trap_.event) ++unflushed_;
    return ticket;
  }
  void flush() override {
    ForwardingPort::flush();
    for (; unflushed_ > 0; --unflushed_) happened();
  }
  engine::Ticket post_write(engine::QueuePairId queue_pair,
                            const engine::WriteRequest& request) override {
    const engine::Ticket ticket = ForwardingPort::post_write(queue_pair, request);
    if (trap_.event == SeamEvent::kWritePosted) happened();
    return ticket;
  }
  std::size_t poll(std::span<Completion> out) override {
    const std::size_t count = ForwardingPort::poll(out);
    for (const Completion& completion : out.first(count)) {
      if (is_polled(completion, trap_.event)) happened();
    }
    return count;
  }

 private:
  void happened() {
    if (++seen_ != trap_.count) return;
    switch (trap_.action) {
      case TrapAction::kDie:
        ::kill(::getpid(), SIGKILL);
        return;
      case TrapAction::kHold:
        line_.spring_and_hold();
        return;
    }
  }

  const SeamTrap trap_;
  const TrapLine& line_;
  int unflushed_ = 0;  ///< copies of the kind, handed over with the next flush
  int seen_ = 0;
};

}  // namespace

std::string_view to_string(SeamEvent event) {
  switch (event) {
    case SeamEvent::kReadyPolled:
      return "ReadyPolled";
    case SeamEvent::kGrantPolled:
      return "GrantPolled";
    case SeamEvent::kStageInPosted:
      return "StageInPosted";
    case SeamEvent::kDirectPosted:
      return "DirectPosted";
    case SeamEvent::kStagedPolled:
      return "StagedPolled";
    case SeamEvent::kWritePosted:
      return "WritePosted";
    case SeamEvent::kArrivedPolled:
      return "ArrivedPolled";
    case SeamEvent::kLandedPolled:
      return "LandedPolled";
    case SeamEvent::kDeliverPosted:
      return "DeliverPosted";
  }
  return "?";
}

TrapLine::TrapLine() : sprung_(make_event()), released_(make_event()) {}

bool TrapLine::await_spring(Seconds timeout) const { return await(sprung_.get(), timeout); }

void TrapLine::release() const { signal(released_.get()); }

void TrapLine::spring_and_hold() const {
  signal(sprung_.get());
  (void)await(released_.get(), kLongestHold);
}

std::unique_ptr<engine::Port> with_trap(engine::Port& port, const SeamTrap& trap,
                                        const TrapLine& line) {
  return std::make_unique<TrappedPort>(port, trap, line);
}

}  // namespace hoccl::hw
