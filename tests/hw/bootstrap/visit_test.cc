#include "hw/bootstrap/visit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "hw/bootstrap/bootstrap_error.h"
#include "hw/bootstrap/doorkeeper.h"
#include "hw/bootstrap/program_version.h"
#include "tests/hw/bootstrap/stranger.h"
#include "tests/hw/bootstrap/thread_job.h"

namespace hoccl::hw::test {
namespace {

using engine::Rank;
using engine::Seconds;

/// Rank 0 of two, as far as its door, and a rank 1 that was let in and then said nothing.
class OccupiedDoor {
 public:
  OccupiedDoor() {
    std::thread first([this] {
      first_ =
          visit(launches_[1].ports.front(), launches_[1].secret, introduction(1)).take_socket();
    });
    serve_until([this] { return guests_ == 1; });
    first.join();
  }

  [[nodiscard]] const Launch& launch() const { return launches_[1]; }
  /// Connections so far, the first rank's too.
  [[nodiscard]] int connections() const { return connections_; }
  [[nodiscard]] int guests() const { return guests_; }
  void forget_rank_1() { doorkeeper_.forget(Rank(1)); }

  template <class Condition>
  void serve_until(const Condition& condition) {
    const Deadline patience(Seconds(20.0));
    while (!condition()) {
      ASSERT_FALSE(patience.passed());
      std::vector<pollfd> watched;
      doorkeeper_.add_to(watched);
      ::poll(watched.data(), watched.size(), 10);
      for (Doorkeeper::Guest& guest : doorkeeper_.serve()) {
        sockets_.push_back(std::move(guest.socket));
        ++guests_;
      }
    }
  }

 private:
  static Introduction introduction(int rank) {
    return {.rank = Rank(rank), .job_size = 2, .program_version = program_version()};
  }

  std::vector<Launch> launches_ = make_launches(2);
  int connections_ = 0;
  int guests_ = 0;
  std::vector<FileDescriptor> sockets_;
  FileDescriptor first_;
  Doorkeeper doorkeeper_{FileDescriptor(launches_[0].listening_socket),
                         launches_[0].secret.key(kRendezvousPurpose), introduction(0), Seconds(5.0),
                         [this](const FileDescriptor&) {
                           ++connections_;
                           return std::optional<std::string>();
                         }};
};

TEST(Visit, ADuplicateTriesAgainUntilItsPlaceIsFree) {
  OccupiedDoor door;
  std::string error;
  std::thread rank([&] {
    try {
      visit(meeting_with_rank_0(door.launch()), {}, Deadline(Seconds(20.0)));
    } catch (const BootstrapError& refused) {
      error = refused.what();
    }
  });
  // It comes again only after it was refused.
  door.serve_until([&] { return door.connections() == 3; });
  door.forget_rank_1();
  door.serve_until([&] { return door.guests() == 2; });
  rank.join();
  EXPECT_EQ(error, "");
}

TEST(Visit, ADuplicateIsRefusedForGoodWhenTheTimeIsOver) {
  OccupiedDoor door;
  std::string error;
  std::atomic<bool> over = false;
  std::thread rank([&] {
    try {
      visit(meeting_with_rank_0(door.launch()), {}, Deadline(Seconds(0.2)));
    } catch (const BootstrapError& refused) {
      error = refused.what();
    }
    over = true;
  });
  door.serve_until([&] { return over.load(); });
  rank.join();
  EXPECT_EQ(error, "rank 0 refused rank 1: a rank 1 is already there");
}

}  // namespace
}  // namespace hoccl::hw::test
