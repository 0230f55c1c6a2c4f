#pragma once

#include <algorithm>
#include <cstdint>
#include <map>

namespace hoccl::engine {

/// Turns between communicators that share a resource, each getting an equal part while it wants
/// any: the one that was served least goes first, and one that comes back from idling does not
/// catch up on what it did not ask for (start-time fair queueing, Goyal et al., SIGCOMM 1996).
class FairShare {
 public:
  /// How much a communicator has been served; the smallest of those that wait goes first.
  [[nodiscard]] std::int64_t served(std::uint16_t communicator) const {
    const auto found = served_.find(communicator);
    return found == served_.end() ? now_ : std::max(found->second, now_);
  }
  /// Of those that waited, this one got `amount`.
  void charge(std::uint16_t communicator, std::int64_t amount) {
    now_ = served(communicator);
    served_[communicator] = now_ + amount;
  }

 private:
  std::map<std::uint16_t, std::int64_t> served_;
  std::int64_t now_ = 0;  ///< what the last one had been served when its turn came
};

}  // namespace hoccl::engine
