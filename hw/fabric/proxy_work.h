#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace hoccl::hw {

/// What a proxy has done apart from the GPU's driver, counted as the model charges it
/// (sim/calibration: cpu).
struct ProxyWork {
  std::int64_t posts = 0;    ///< messages, and writes of a link that only tells: post_local_message
  std::int64_t heard = 0;    ///< completions but those of copies: poll_message
  std::int64_t changes = 0;  ///< bookkeeping
  std::int64_t flows = 0;    ///< plan_flow
  std::int64_t notices = 0;  ///< gates opened, submissions finished: open_gate, finish

  static constexpr std::size_t kKinds = 5;
  [[nodiscard]] std::array<double, kKinds> since(const ProxyWork& before) const {
    return {static_cast<double>(posts - before.posts), static_cast<double>(heard - before.heard),
            static_cast<double>(changes - before.changes),
            static_cast<double>(flows - before.flows),
            static_cast<double>(notices - before.notices)};
  }
};

}  // namespace hoccl::hw
