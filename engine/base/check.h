#pragma once

#include <fmt/format.h>

#include <string>

namespace hoccl::engine {

/// Prints the broken invariant to stderr and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* expression,
                               const std::string& message);

}  // namespace hoccl::engine

/// Programmer error when false: prints the expression and the formatted values, then aborts.
/// On in every build, because a run whose invariants are not checked proves nothing.
#define HOCCL_CHECK(expression, ...)                                                            \
  do {                                                                                          \
    if (!(expression)) [[unlikely]] {                                                           \
      ::hoccl::engine::check_failed(__FILE__, __LINE__, #expression, fmt::format(__VA_ARGS__)); \
    }                                                                                           \
  } while (false)
