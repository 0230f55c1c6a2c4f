// Any text is either a calibration or refused in one line.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/base/check.h"
#include "engine/base/config_error.h"
#include "sim/calibration/calibration.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hoccl;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    sim::parse_calibration(text, "fuzz.toml").hash();
  } catch (const engine::ConfigError& error) {
    HOCCL_CHECK(std::string_view(error.what()).find('\n') == std::string_view::npos,
                "more than one line: {}", error.what());
  }
  return 0;
}
