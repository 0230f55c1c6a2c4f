#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "hw/bootstrap/bootstrap_error.h"
#include "hw/bootstrap/doorkeeper.h"
#include "hw/bootstrap/program_version.h"
#include "hw/bootstrap/sockets.h"
#include "hw/bootstrap/star.h"
#include "hw/bootstrap/star_message.h"

namespace hoccl::hw {

namespace {

/// For the ranks to be told why the job ends.
constexpr engine::Seconds kLastWords{1.0};

FileDescriptor open_listener(const Launch& launch) {
  if (launch.listening_socket < 0) return listen_on_first_free(launch.host, launch.ports);
  if (!is_listening(launch.listening_socket)) {
    throw BootstrapError(fmt::format("rank 0 was to inherit the listening socket {}, which is none",
                                     launch.listening_socket));
  }
  return adopt_socket(launch.listening_socket);
}

/// "ranks 3, 5 did not appear within 60 s"
std::string late_ranks(std::vector<engine::Rank> ranks, const std::string& what,
                       engine::Seconds timeout) {
  std::ranges::sort(ranks);
  return fmt::format("{} {} did not {} within {} s", ranks.size() == 1 ? "rank" : "ranks",
                     fmt::join(ranks, ", "), what, timeout.count());
}

}  // namespace

StarCentre::StarCentre(const Launch& launch, const BootstrapOptions& options,
                       const Deadline& deadline)
    : Star(launch, options) {
  if (launch.size == 1 && launch.listening_socket < 0) return;
  const MacKey key = launch.secret.key(kRendezvousPurpose);
  const Introduction self{
      .rank = launch.rank, .job_size = launch.size, .program_version = program_version()};
  Doorkeeper doorkeeper(open_listener(launch), key, self, options.hello_timeout);
  while (true) {
    for (Doorkeeper::Guest& guest : doorkeeper.serve()) {
      spokes_.push_back({.rank = guest.rank,
                         .channel = Channel(std::move(guest.socket), guest.keys.to_client,
                                            guest.keys.to_server)});
    }
    hear_first_words(doorkeeper);
    std::vector<engine::Rank> late = doorkeeper.missing();
    for (const Spoke& spoke : spokes_) {
      if (!spoke.blob) late.push_back(spoke.rank);
    }
    if (late.empty()) return;
    if (deadline.passed()) give_up(late_ranks(std::move(late), "appear", options.timeout));
    std::vector<pollfd> watched;
    doorkeeper.add_to(watched);
    add_to(watched);
    const Deadline wake = std::min(deadline, doorkeeper.deadline().value_or(deadline));
    ::poll(watched.data(), watched.size(), wake.poll_milliseconds());
  }
}

void StarCentre::hear_first_words(Doorkeeper& doorkeeper) {
  for (auto spoke = spokes_.begin(); spoke != spokes_.end();) {
    take_word(*spoke);
    // A rank whose time for one try was over when its hello was read: it comes again.
    if (!spoke->blob && spoke->channel.lost()) {
      doorkeeper.forget(spoke->rank);
      spoke = spokes_.erase(spoke);
    } else {
      require_working(*spoke);
      ++spoke;
    }
  }
}

void StarCentre::add_to(std::vector<pollfd>& watched) const {
  for (const Spoke& spoke : spokes_) watched.push_back(spoke.channel.watched());
}

void StarCentre::look_for_losses() {
  for (Spoke& spoke : spokes_) hear(spoke);
}

std::vector<std::string> StarCentre::exchange(std::string_view blob, const Deadline& deadline) {
  collect(deadline);
  std::vector<std::string> blobs(static_cast<std::size_t>(size()));
  blobs[0] = blob;
  for (Spoke& spoke : spokes_) {
    blobs[spoke.rank.index()] = std::move(*spoke.blob);
    spoke.blob.reset();
  }
  distribute(blobs, deadline);
  return blobs;
}

void StarCentre::collect(const Deadline& deadline) {
  while (true) {
    std::vector<engine::Rank> missing;
    for (Spoke& spoke : spokes_) {
      hear(spoke);
      if (!spoke.blob) missing.push_back(spoke.rank);
    }
    if (missing.empty()) return;
    if (deadline.passed()) {
      give_up(late_ranks(missing, "answer", options().exchange_timeout));
    }
    wait_for_spokes(deadline);
  }
}

void StarCentre::distribute(const std::vector<std::string>& blobs, const Deadline& deadline) {
  std::vector<Spoke*> unfinished;
  for (Spoke& spoke : spokes_) {
    spoke.sent = 0;
    unfinished.push_back(&spoke);
  }
  while (true) {
    // Who has everything is not listened to: it may say the next thing already, or leave.
    std::erase_if(unfinished, [&](Spoke* spoke) { return send_blobs(*spoke, blobs); });
    if (unfinished.empty()) return;
    if (deadline.passed()) {
      std::vector<engine::Rank> ranks;
      for (const Spoke* spoke : unfinished) ranks.push_back(spoke->rank);
      give_up(late_ranks(std::move(ranks), "listen", options().exchange_timeout));
    }
    std::vector<pollfd> watched;
    for (const Spoke* spoke : unfinished) watched.push_back(spoke->channel.watched());
    ::poll(watched.data(), watched.size(), deadline.poll_milliseconds());
    for (Spoke* spoke : unfinished) hear(*spoke);
  }
}

bool StarCentre::send_blobs(Spoke& spoke, const std::vector<std::string>& blobs) {
  spoke.channel.write();
  // One blob at a time, so that not all of them are kept once per rank.
  while (spoke.channel.all_written() && spoke.sent < blobs.size()) {
    spoke.channel.queue(make_star_message(StarMessage::kBlob, blobs[spoke.sent++]));
    spoke.channel.write();
  }
  return spoke.channel.all_written();
}

void StarCentre::hear(Spoke& spoke) {
  take_word(spoke);
  require_working(spoke);
}

void StarCentre::require_working(const Spoke& spoke) {
  if (spoke.channel.fault().empty()) return;
  give_up(fmt::format("rank {} {}", spoke.rank, spoke.channel.fault()));
}

void StarCentre::take_word(Spoke& spoke) {
  // A rank that already waits for the answer says nothing more: only its end can be heard.
  const auto frame = spoke.channel.read();
  if (!frame) return;
  const StarMessageReading message = read_star_message(*frame);
  if (message.kind != StarMessage::kBlob || spoke.blob) {
    give_up(fmt::format("rank {} spoke out of turn", spoke.rank));
  }
  spoke.blob = std::string(message.text);
}

void StarCentre::wait_for_spokes(const Deadline& deadline) {
  std::vector<pollfd> watched;
  add_to(watched);
  ::poll(watched.data(), watched.size(), deadline.poll_milliseconds());
}

void StarCentre::give_up(const std::string& why) {
  for (Spoke& spoke : spokes_) {
    spoke.channel.queue(make_star_message(StarMessage::kFailure, why));
    spoke.channel.write();
  }
  const Deadline deadline(kLastWords);
  while (!deadline.passed() && !std::ranges::all_of(spokes_, [](const Spoke& spoke) {
    return spoke.channel.all_written();
  })) {
    wait_for_spokes(deadline);
    for (Spoke& spoke : spokes_) spoke.channel.write();
  }
  fail(why);
}

}  // namespace hoccl::hw
