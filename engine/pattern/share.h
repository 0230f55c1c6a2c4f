#pragma once

#include <cstdint>

#include "engine/base/units.h"

namespace hoccl::engine {

/// Where the share of rank `index` begins when `size` bytes are split over `count` ranks:
/// floor(size * index / count) without forming the product, which would overflow. Shares differ by
/// at most 1 byte; share_begin(size, count, count) is `size`.
constexpr Bytes share_begin(Bytes size, int count, int index) {
  const Bytes each = size / count;
  const Bytes rest = size - each * count;  // below count, so rest * index fits easily
  return each * index + rest * index / count;
}

constexpr Bytes share_size(Bytes size, int count, int index) {
  return share_begin(size, count, index + 1) - share_begin(size, count, index);
}

/// nccl-tests' factor of busbw where a rank's own share, one of `count`, crosses no link.
constexpr double others_share(int count) { return static_cast<double>(count - 1) / count; }

}  // namespace hoccl::engine
