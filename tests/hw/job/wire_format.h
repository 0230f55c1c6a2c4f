#pragma once

// How a test and its ranks write values to each other: both are the same binary, so plain bytes do.

#include <concepts>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "engine/base/check.h"

namespace hoccl::hw {

template <class Value>
concept Plain = std::is_trivially_copyable_v<Value>;

template <Plain Value>
void append(std::string& text, const Value& value) {
  const std::size_t end = text.size();
  text.resize(end + sizeof(Value));
  std::memcpy(text.data() + end, &value, sizeof(Value));
}

/// Takes what append() wrote from the front.
template <Plain Value>
Value take(std::string_view& text) {
  HOCCL_CHECK(text.size() >= sizeof(Value), "{} bytes left of {}", text.size(), sizeof(Value));
  // A closure is no default constructible type, so its bytes become one.
  alignas(Value) std::byte bytes[sizeof(Value)];
  std::memcpy(static_cast<void*>(bytes), text.data(), sizeof(Value));
  text.remove_prefix(sizeof(Value));
  return *reinterpret_cast<const Value*>(bytes);
}

}  // namespace hoccl::hw
