#include "hw/bootstrap/refusal_log.h"

#include <fmt/format.h>

#include <cstdio>

namespace hoccl::hw {

RefusalLog::~RefusalLog() {
  if (unsaid_ == 0) return;
  std::fputs(fmt::format("hoccl: rank {}: refused {} more connections\n", self_, unsaid_).c_str(),
             stderr);
}

void RefusalLog::refused(const PeerName& peer, const std::string& reason) {
  if (said_.size() >= kMaxLines || !said_.emplace(peer.origin, reason).second) {
    ++unsaid_;
    return;
  }
  // One write, so that lines of several processes do not mix.
  std::fputs(
      fmt::format("hoccl: rank {}: refused a connection from {}: {}\n", self_, peer.whole, reason)
          .c_str(),
      stderr);
}

}  // namespace hoccl::hw
