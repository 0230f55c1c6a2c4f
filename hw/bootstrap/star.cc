#include "hw/bootstrap/star.h"

#include <fmt/format.h>

#include <utility>

#include "engine/base/check.h"
#include "hw/bootstrap/bootstrap_error.h"
#include "hw/bootstrap/host_identity.h"
#include "hw/bootstrap/sockets.h"
#include "hw/bootstrap/star_message.h"
#include "hw/bootstrap/visit.h"

namespace hoccl::hw {

namespace {

/// Rank 0 knows which rank is late and says so when the time is over; the others wait for that.
constexpr engine::Seconds kGrace{2.0};

}  // namespace

std::unique_ptr<Bootstrap> Bootstrap::connect(const Launch& launch,
                                              const BootstrapOptions& options) {
  HOCCL_CHECK(launch.rank.value() >= 0 && launch.rank.value() < launch.size, "rank {} of {}",
              launch.rank, launch.size);
  HOCCL_CHECK(launch.size == 1 || launch.listening_socket >= 0 || !launch.ports.empty(),
              "rank {} has no port to meet on", launch.rank);
  const Deadline deadline(options.timeout);
  std::unique_ptr<Star> star;
  if (launch.rank == engine::Rank(0)) {
    star = std::make_unique<StarCentre>(launch, options, deadline);
  } else {
    star = std::make_unique<StarPoint>(launch, options,
                                       visit(meeting_with_rank_0(launch), options, deadline));
  }
  star->learn_hosts(deadline);
  return star;
}

std::vector<std::string> Star::all_gather(std::string_view blob) {
  HOCCL_CHECK(blob.size() <= kMaxBlob, "a blob of {} bytes", blob.size());
  return checked_exchange(blob, Deadline(options_.exchange_timeout));
}

void Star::learn_hosts(const Deadline& deadline) {
  std::vector<HostIdentity> identities;
  for (const std::string& line : checked_exchange(to_line(read_host_identity()), deadline)) {
    identities.push_back(parse_host_identity(line));
  }
  hosts_ = name_hosts(identities);
}

std::vector<std::string> Star::checked_exchange(std::string_view blob, const Deadline& deadline) {
  require_no_failure();
  return exchange(blob, deadline);
}

void Star::require_nobody_lost() {
  require_no_failure();
  look_for_losses();
}

void Star::require_no_failure() const {
  if (!failure_.empty()) throw BootstrapError(failure_);
}

void Star::fail(const std::string& why) {
  failure_ = why;
  throw BootstrapError(why);
}

StarPoint::StarPoint(const Launch& launch, const BootstrapOptions& options, Channel channel)
    : Star(launch, options), channel_(std::move(channel)) {}

/// On rank 0's own host its name often leads to a loopback address, which others cannot reach.
std::string StarPoint::own_address() const {
  const std::string address = channel_.own_address();
  return is_loopback(address) ? Star::own_address() : address;
}

std::vector<std::string> StarPoint::exchange(std::string_view blob, const Deadline& deadline) {
  const Deadline end(deadline.left() + kGrace);
  channel_.queue(make_star_message(StarMessage::kBlob, blob));
  std::vector<std::string> blobs;
  while (true) {
    channel_.write();
    while (blobs.size() < static_cast<std::size_t>(size())) {
      auto next = hear();
      if (!next) break;
      blobs.push_back(std::move(*next));
    }
    if (blobs.size() == static_cast<std::size_t>(size())) return blobs;
    if (end.passed()) {
      fail(fmt::format("rank 0 did not answer within {} s", options().exchange_timeout.count()));
    }
    pollfd watched = channel_.watched();
    ::poll(&watched, 1, end.poll_milliseconds());
  }
}

std::optional<std::string> StarPoint::hear() {
  const auto frame = channel_.read();
  if (!channel_.fault().empty()) fail("rank 0 " + channel_.fault());
  if (!frame) return std::nullopt;
  const StarMessageReading message = read_star_message(*frame);
  if (message.kind == StarMessage::kFailure) fail(std::string(message.text));
  if (message.kind == StarMessage::kUnknown) fail("rank 0 sent an unknown message");
  return std::string(message.text);
}

void StarPoint::add_to(std::vector<pollfd>& watched) const {
  watched.push_back(channel_.watched());
}

void StarPoint::look_for_losses() {
  if (hear()) fail("rank 0 spoke out of turn");
}

void require_agreement(Bootstrap& bootstrap, const std::string& what, const std::string& text) {
  const std::vector<std::string> texts = bootstrap.all_gather(text);
  for (std::size_t rank = 1; rank < texts.size(); ++rank) {
    if (texts[rank] == texts[0]) continue;
    throw BootstrapError(fmt::format("rank {} has another {} than rank 0: {} instead of {}", rank,
                                     what, texts[rank], texts[0]));
  }
}

}  // namespace hoccl::hw
