#include "hw/bootstrap/visitor.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "engine/base/check.h"
#include "hw/bootstrap/sockets.h"

namespace hoccl::hw {

namespace {

/// For a verdict that is authentic, and with it the greeting.
std::string refusal(Verdict verdict, const Introduction& self, const Introduction& server) {
  switch (verdict) {
    case Verdict::kAccepted:
    case Verdict::kNotAHello:
    case Verdict::kOtherProtocol:
    case Verdict::kWrongSecret:
      return "it does not understand this rank";
    case Verdict::kOtherProgram:
      return fmt::format("it runs version {}, this rank {}", server.program_version,
                         self.program_version);
    case Verdict::kOtherJobSize:
      return fmt::format("it expects {} ranks, this rank {}", server.job_size, self.job_size);
    case Verdict::kRankOutOfRange:
      return fmt::format("it does not expect rank {}", self.rank);
    case Verdict::kDuplicateRank:
      return fmt::format("a rank {} is already there", self.rank);
  }
  std::abort();
}

}  // namespace

Visitor::Visitor(FileDescriptor socket, const MacKey& key, const Introduction& self,
                 engine::Rank server)
    : socket_(std::move(socket)), key_(key), self_(self), server_(server) {}

Visitor::State Visitor::advance() {
  if (state_ == State::kWaiting && !has_answered_ && receive(greeting_)) answer_greeting();
  if (state_ == State::kWaiting && has_answered_ && receive(verdict_)) read_verdict_bytes();
  return state_;
}

SessionKeys Visitor::session_keys() const {
  HOCCL_CHECK(state_ == State::kAccepted, "rank {} was not accepted", self_.rank);
  return make_session_keys(key_, greeting_, hello_);
}

bool Visitor::receive(std::span<std::byte> target) {
  while (received_ < target.size()) {
    const auto rest = target.subspan(received_);
    const ssize_t count = ::recv(socket_.get(), rest.data(), rest.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return false;
    if (count <= 0) {
      end(State::kStranger, "it closed the connection");
      return false;
    }
    received_ += static_cast<std::size_t>(count);
  }
  received_ = 0;
  return true;
}

void Visitor::answer_greeting() {
  const GreetingReading reading = read_greeting(greeting_);
  if (!reading.understood) {
    end(State::kStranger, "it speaks another protocol or another version of it");
    return;
  }
  if (reading.server.rank != server_) {
    end(State::kStranger, fmt::format("it says that it is rank {}", reading.server.rank));
    return;
  }
  Nonce nonce;
  fill_random(nonce);
  hello_ = make_hello(key_, greeting_, self_, nonce);
  has_answered_ = true;
  if (!send_all_now(socket_, hello_)) end(State::kStranger, "it closed the connection");
}

void Visitor::read_verdict_bytes() {
  const VerdictReading reading = read_verdict(key_, greeting_, hello_, verdict_);
  if (!reading.authentic) {
    end(State::kStranger, "it does not know this job's secret");
  } else if (reading.verdict == Verdict::kAccepted) {
    state_ = State::kAccepted;
  } else {
    const bool duplicate = reading.verdict == Verdict::kDuplicateRank;
    end(duplicate ? State::kDuplicate : State::kRefused,
        refusal(reading.verdict, self_, read_greeting(greeting_).server));
  }
}

Visitor::State Visitor::end(State state, std::string reason) {
  state_ = state;
  reason_ = std::move(reason);
  return state_;
}

}  // namespace hoccl::hw
