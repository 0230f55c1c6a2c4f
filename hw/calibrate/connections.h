#pragma once

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace hoccl::hw {

inline constexpr const char* kConnectionsVariable = "CUDA_DEVICE_MAX_CONNECTIONS";

/// As the environment has it when CUDA starts; 0: not set, so CUDA's default.
inline int max_connections() {
  const char* text = std::getenv(kConnectionsVariable);
  if (text == nullptr) return 0;
  const std::string_view word = text;
  int value = 0;
  std::from_chars(word.data(), word.data() + word.size(), value);
  return value;
}

}  // namespace hoccl::hw
