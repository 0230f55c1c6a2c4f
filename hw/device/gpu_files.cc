#include "hw/device/gpu_files.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>

namespace hoccl::hw {
namespace {

/// "nvidia0", not "nvidiactl".
bool is_gpu(const std::string& name) {
  constexpr std::string_view kPrefix = "nvidia";
  return name.starts_with(kPrefix) && name.size() > kPrefix.size() &&
         std::all_of(name.begin() + kPrefix.size(), name.end(),
                     [](unsigned char letter) { return std::isdigit(letter) != 0; });
}

}  // namespace

std::vector<std::string> gpu_files() {
  std::error_code error;
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev", error)) {
    std::string name = entry.path().filename().string();
    if (is_gpu(name)) names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace hoccl::hw
