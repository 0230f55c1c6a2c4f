#include "engine/pattern/request_check.h"

#include <fmt/format.h>

#include "engine/base/config_error.h"
#include "engine/pattern/pattern.h"

namespace hoccl::engine {

void require_rank_count(std::string_view name, int rank_count, int least, int most) {
  if (rank_count < least || rank_count > most) {
    throw ConfigError(
        fmt::format("pattern {}: ranks = {}: expected {} to {}", name, rank_count, least, most));
  }
}

void require_size(std::string_view name, Bytes size) {
  if (size < Bytes(0) || size > kMaxMessageSize) {
    throw ConfigError(fmt::format("pattern {}: size = {}: expected 0 to {} bytes", name,
                                  size.count(), kMaxMessageSize.count()));
  }
}

void require_rank(std::string_view name, std::string_view key, Rank rank, int rank_count) {
  if (rank.value() < 0 || rank.value() >= rank_count) {
    throw ConfigError(fmt::format("pattern {}: {} = {}: expected a rank from 0 to {}", name, key,
                                  rank, rank_count - 1));
  }
}

}  // namespace hoccl::engine
