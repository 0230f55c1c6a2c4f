#pragma once

#include <poll.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/units.h"
#include "hw/bootstrap/launch.h"

namespace hoccl::hw {

struct BootstrapOptions {
  /// For all ranks to appear.
  engine::Seconds timeout{60.0};
  /// For all ranks to come to an exchange. One that has ended is noticed at once.
  engine::Seconds exchange_timeout{60.0};
  /// For one stranger to say who it is, before its connection is closed.
  engine::Seconds hello_timeout{5.0};
};

/// The processes of one job, one per rank, connected in a star whose centre is rank 0. Every
/// connection has proved that it knows the job's secret, and everything on it is authenticated.
/// Only small control data travels here: names, descriptors, queue pair addresses.
class Bootstrap {
 public:
  /// Collective over all ranks of the launch. Throws BootstrapError naming the ranks that are
  /// missing after the timeout, or why this rank was refused.
  static std::unique_ptr<Bootstrap> connect(const Launch& launch, const BootstrapOptions& options);

  virtual ~Bootstrap() = default;
  [[nodiscard]] virtual engine::Rank rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  [[nodiscard]] virtual const JobSecret& secret() const = 0;
  [[nodiscard]] virtual const BootstrapOptions& options() const = 0;
  /// A name of the host that `rank` runs on: equal exactly for ranks of one kernel and network
  /// namespace.
  [[nodiscard]] virtual const std::string& host_of(engine::Rank rank) const = 0;

  /// Where other ranks of the job can reach a socket of this rank: an address of the network that
  /// it met rank 0 on. Empty: this machine's loopback.
  [[nodiscard]] virtual std::string own_address() const = 0;

  /// Collective: the blob of every rank, by rank; a blob has at most 1 MiB. Throws BootstrapError
  /// naming the rank when one is lost or late. One thread at a time.
  virtual std::vector<std::string> all_gather(std::string_view blob) = 0;
  void barrier() { all_gather({}); }

  // Between two exchanges, for a rank that waits for others by another way and should not wait in
  // vain for one that is lost. Nobody may leave before the second exchange.

  /// What poll() must watch for.
  virtual void add_to(std::vector<pollfd>& watched) const = 0;
  /// Throws what the next all_gather() would throw when it is known by now that a rank is lost.
  /// Waits for nobody.
  virtual void require_nobody_lost() = 0;
};

/// Collective: throws BootstrapError on every rank, naming the first rank whose `text` differs from
/// rank 0's, what differs, and both texts.
void require_agreement(Bootstrap& bootstrap, const std::string& what, const std::string& text);

}  // namespace hoccl::hw
