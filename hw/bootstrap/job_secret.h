#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "hw/bootstrap/authentication.h"

namespace hoccl::hw {

/// What the processes of one job know and nobody else does: 128 random bits. It never travels; keys
/// derived from it prove that its holder belongs to the job.
class JobSecret {
 public:
  static constexpr std::size_t kSize = 16;

  static JobSecret generate();
  /// 32 hexadecimal digits; anything else throws ConfigError, whose text does not repeat `digits`
  /// and does not name the place: callers add it.
  static JobSecret parse(std::string_view digits);

  /// As parse() reads it. Not for logs.
  [[nodiscard]] std::string digits() const;
  /// The secret of one job among several that were started with this one.
  [[nodiscard]] JobSecret for_job(std::string_view job_name) const;
  /// An independent key for each `purpose`.
  [[nodiscard]] MacKey key(std::string_view purpose) const;

  /// In constant time.
  bool operator==(const JobSecret& other) const;

 private:
  JobSecret() = default;

  std::array<std::byte, kSize> bytes_{};
};

}  // namespace hoccl::hw
