#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "engine/base/check.h"
#include "hw/bootstrap/bootstrap.h"

namespace hoccl::hw {

/// Collective: plain values of every rank, by rank. All ranks pass equally many.
template <class Value>
std::vector<std::vector<Value>> exchange(Bootstrap& bootstrap, const std::vector<Value>& own) {
  static_assert(std::is_trivially_copyable_v<Value>);
  const std::string_view blob(reinterpret_cast<const char*>(own.data()),
                              own.size() * sizeof(Value));
  std::vector<std::vector<Value>> all;
  for (const std::string& received : bootstrap.all_gather(blob)) {
    HOCCL_CHECK(received.size() == blob.size(), "a rank sent {} bytes instead of {}",
                received.size(), blob.size());
    std::vector<Value>& values = all.emplace_back(own.size());
    std::memcpy(values.data(), received.data(), received.size());
  }
  return all;
}

}  // namespace hoccl::hw
