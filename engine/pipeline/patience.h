#pragma once

#include <optional>

#include "engine/base/units.h"

namespace hoccl::engine {

/// How long background has waited for a resource that foreground keeps. Work of the background that
/// was held back for `limit` is let through once, then the wait begins anew.
class Patience {
 public:
  /// To be told after every round whether background waits.
  void watch(bool waits, Seconds now) {
    if (!waits) {
      since_.reset();
    } else if (!since_) {
      since_ = now;
    }
  }
  void served() { since_.reset(); }
  /// Since when it waits, if it does.
  [[nodiscard]] std::optional<Seconds> since() const { return since_; }
  [[nodiscard]] std::optional<Seconds> deadline(Seconds limit) const {
    if (!since_) return std::nullopt;
    return *since_ + limit;
  }
  [[nodiscard]] bool ended(Seconds now, Seconds limit) const {
    return since_ && *since_ + limit <= now;
  }

 private:
  std::optional<Seconds> since_;
};

}  // namespace hoccl::engine
