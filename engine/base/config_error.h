#pragma once

#include <stdexcept>
#include <string>

namespace hoccl::engine {

/// Bad input: one line that names the place (file or option), the key, the value and what was
/// expected. Caught only in main, which prints it and exits with 2.
class ConfigError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace hoccl::engine
