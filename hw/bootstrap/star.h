#pragma once

#include <poll.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/units.h"
#include "hw/bootstrap/bootstrap.h"
#include "hw/bootstrap/channel.h"
#include "hw/bootstrap/deadline.h"
#include "hw/bootstrap/doorkeeper.h"

namespace hoccl::hw {

/// What both ends of the star know.
class Star : public Bootstrap {
 public:
  [[nodiscard]] engine::Rank rank() const override { return launch_.rank; }
  [[nodiscard]] int size() const override { return launch_.size; }
  [[nodiscard]] const JobSecret& secret() const override { return launch_.secret; }
  [[nodiscard]] const BootstrapOptions& options() const override { return options_; }
  [[nodiscard]] std::string own_address() const override { return launch_.host; }
  [[nodiscard]] const std::string& host_of(engine::Rank rank) const override {
    return hosts_.at(rank.index());
  }
  std::vector<std::string> all_gather(std::string_view blob) final;
  void require_nobody_lost() final;

  /// Collective: the first exchange. Ends at `deadline`.
  void learn_hosts(const Deadline& deadline);

 protected:
  Star(const Launch& launch, const BootstrapOptions& options)
      : launch_(launch), options_(options) {}

  virtual std::vector<std::string> exchange(std::string_view blob, const Deadline& deadline) = 0;
  /// Takes what has come since the last exchange; fails when that is an end.
  virtual void look_for_losses() = 0;
  /// From now on every exchange throws this.
  [[noreturn]] void fail(const std::string& why);

 private:
  std::vector<std::string> checked_exchange(std::string_view blob, const Deadline& deadline);
  void require_no_failure() const;

  Launch launch_;
  BootstrapOptions options_;
  std::vector<std::string> hosts_;
  std::string failure_;
};

/// Rank 0: collects every rank's blob, then sends all to all.
class StarCentre final : public Star {
 public:
  /// Waits until all ranks are there and have begun their first exchange, or throws BootstrapError
  /// there and here. Takes the launch's listening socket.
  StarCentre(const Launch& launch, const BootstrapOptions& options, const Deadline& deadline);

  void add_to(std::vector<pollfd>& watched) const override;

 private:
  struct Spoke {
    engine::Rank rank;
    Channel channel;
    std::optional<std::string> blob = {};  ///< heard, and not yet used
    std::size_t sent = 0;                  ///< blobs of the current exchange it was sent
  };

  std::vector<std::string> exchange(std::string_view blob, const Deadline& deadline) override;
  void look_for_losses() override;
  /// Of the ranks that have been let in; those that have gone without one may come again.
  void hear_first_words(Doorkeeper& doorkeeper);
  void collect(const Deadline& deadline);
  void distribute(const std::vector<std::string>& blobs, const Deadline& deadline);
  /// True: it has all of them.
  static bool send_blobs(Spoke& spoke, const std::vector<std::string>& blobs);
  /// Takes what has come from it; gives up when it is lost or says what it should not.
  void hear(Spoke& spoke);
  void take_word(Spoke& spoke);
  void require_working(const Spoke& spoke);
  void wait_for_spokes(const Deadline& deadline);
  /// Tells all ranks, then throws.
  [[noreturn]] void give_up(const std::string& why);

  std::vector<Spoke> spokes_;
};

/// Any other rank.
class StarPoint final : public Star {
 public:
  StarPoint(const Launch& launch, const BootstrapOptions& options, Channel channel);

  [[nodiscard]] std::string own_address() const override;
  void add_to(std::vector<pollfd>& watched) const override;

 private:
  std::vector<std::string> exchange(std::string_view blob, const Deadline& deadline) override;
  void look_for_losses() override;
  /// The next blob if it has come; fails when there will be none.
  std::optional<std::string> hear();

  Channel channel_;
};

}  // namespace hoccl::hw
