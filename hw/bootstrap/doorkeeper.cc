#include "hw/bootstrap/doorkeeper.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <span>
#include <utility>

#include "hw/system/system_error.h"

namespace hoccl::hw {

namespace {

/// Strangers that knock faster than they are served must not keep those inside from being served.
constexpr int kMaxAcceptsAtOnce = 64;

}  // namespace

Doorkeeper::Doorkeeper(FileDescriptor listener, const MacKey& key, const Introduction& self,
                       engine::Seconds hello_timeout, Objection objection)
    : listener_(std::move(listener)),
      key_(key),
      self_(self),
      hello_timeout_(hello_timeout),
      objection_(std::move(objection)),
      present_(static_cast<std::size_t>(self.job_size), false),
      log_(self.rank) {}

void Doorkeeper::add_to(std::vector<pollfd>& watched) const {
  watched.push_back({.fd = listener_.get(), .events = POLLIN, .revents = 0});
  for (const Stranger& stranger : strangers_) {
    watched.push_back({.fd = stranger.socket.get(), .events = POLLIN, .revents = 0});
  }
}

std::optional<Deadline> Doorkeeper::deadline() const {
  if (strangers_.empty()) return std::nullopt;
  return strangers_.front().deadline;
}

std::vector<Doorkeeper::Guest> Doorkeeper::serve() {
  std::vector<Guest> guests;
  std::deque<Stranger> waiting;
  for (Stranger& stranger : strangers_) {
    const Progress progress = receive(stranger);
    if (progress == Progress::kComplete) {
      if (auto guest = judge(stranger)) guests.push_back(std::move(*guest));
    } else if (progress == Progress::kWaiting && stranger.deadline.passed()) {
      log_.refused(stranger.name, "no hello in time");
    } else if (progress == Progress::kWaiting) {
      waiting.push_back(std::move(stranger));
    } else if (stranger.received > 0) {
      log_.refused(stranger.name, reason(Verdict::kNotAHello, {}));
    }
    // Who comes and goes without a word is not worth one: a rank that was served too late does so.
  }
  strangers_ = std::move(waiting);
  accept_strangers();
  return guests;
}

std::vector<engine::Rank> Doorkeeper::missing() const {
  std::vector<engine::Rank> ranks;
  for (int rank = self_.rank.value() + 1; rank < self_.job_size; ++rank) {
    if (!present_[static_cast<std::size_t>(rank)]) ranks.emplace_back(rank);
  }
  return ranks;
}

void Doorkeeper::accept_strangers() {
  for (int accepted = 0; accepted < kMaxAcceptsAtOnce; ++accepted) {
    try {
      FileDescriptor socket = accept_one(listener_);
      if (!socket) return;
      welcome(std::move(socket));
    } catch (const SystemError& error) {
      if (error.error_number() != EMFILE || strangers_.empty()) throw;
      strangers_.pop_front();
    }
  }
}

void Doorkeeper::welcome(FileDescriptor socket) {
  PeerName name = peer_name(socket);
  if (objection_) {
    if (const auto objection = objection_(socket)) {
      log_.refused(name, *objection);
      return;
    }
  }
  Nonce nonce;
  fill_random(nonce);
  const GreetingBytes greeting = make_greeting(self_, nonce);
  if (!send_all_now(socket, greeting)) return;
  if (strangers_.size() >= kMaxStrangers) {
    log_.refused(strangers_.front().name, "too many strangers at once");
    strangers_.pop_front();
  }
  strangers_.push_back({.socket = std::move(socket),
                        .name = std::move(name),
                        .greeting = greeting,
                        .deadline = Deadline(hello_timeout_)});
}

Doorkeeper::Progress Doorkeeper::receive(Stranger& stranger) {
  while (stranger.received < stranger.hello.size()) {
    const auto rest = std::span(stranger.hello).subspan(stranger.received);
    const ssize_t count = ::recv(stranger.socket.get(), rest.data(), rest.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return Progress::kWaiting;
    if (count <= 0) return Progress::kGone;
    stranger.received += static_cast<std::size_t>(count);
  }
  return Progress::kComplete;
}

std::optional<Doorkeeper::Guest> Doorkeeper::judge(Stranger& stranger) {
  const HelloReading reading = read_hello(key_, stranger.greeting, stranger.hello);
  const Verdict verdict = verdict_on(reading);
  const VerdictBytes bytes = make_verdict(key_, stranger.greeting, stranger.hello, verdict);
  const bool told = send_all_now(stranger.socket, bytes);
  if (verdict != Verdict::kAccepted) {
    log_.refused(stranger.name, reason(verdict, reading));
    return std::nullopt;
  }
  if (!told) return std::nullopt;
  present_[reading.client.rank.index()] = true;
  return Guest{.rank = reading.client.rank,
               .socket = std::move(stranger.socket),
               .keys = make_session_keys(key_, stranger.greeting, stranger.hello)};
}

Verdict Doorkeeper::verdict_on(const HelloReading& reading) const {
  if (reading.verdict != Verdict::kAccepted) return reading.verdict;
  const engine::Rank rank = reading.client.rank;
  if (rank <= self_.rank || rank.value() >= self_.job_size) return Verdict::kRankOutOfRange;
  return present_[rank.index()] ? Verdict::kDuplicateRank : Verdict::kAccepted;
}

std::string Doorkeeper::reason(Verdict verdict, const HelloReading& reading) const {
  switch (verdict) {
    case Verdict::kAccepted:
      break;
    case Verdict::kNotAHello:
      return "not a hello";
    case Verdict::kOtherProtocol:
      return "another version of the protocol";
    case Verdict::kWrongSecret:
      return "wrong secret";
    case Verdict::kOtherProgram:
      return fmt::format("rank {} runs version {}, this is {}", reading.client.rank,
                         reading.client.program_version, self_.program_version);
    case Verdict::kOtherJobSize:
      return fmt::format("rank {} expects {} ranks, not {}", reading.client.rank,
                         reading.client.job_size, self_.job_size);
    case Verdict::kRankOutOfRange:
      return fmt::format("rank {} is not one of {} to {}", reading.client.rank,
                         self_.rank.value() + 1, self_.job_size - 1);
    case Verdict::kDuplicateRank:
      return fmt::format("rank {} is already there", reading.client.rank);
  }
  std::abort();
}

}  // namespace hoccl::hw
