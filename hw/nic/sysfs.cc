#include "hw/nic/sysfs.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>

namespace hoccl::hw {

namespace fs = std::filesystem;

namespace {

/// Domain, bus, device and function, as "0000:3b:00.0"; domains of more than 16 bits are longer.
bool is_pci_address(std::string_view name) {
  constexpr std::string_view kShape = "xxxx:xx:xx.x";
  if (name.size() < kShape.size()) return false;
  const auto fits = [](char letter, char shape) {
    if (shape != 'x') return letter == shape;
    return std::isxdigit(static_cast<unsigned char>(letter)) != 0;
  };
  const auto shaped = name.end() - static_cast<std::ptrdiff_t>(kShape.size());
  return std::all_of(name.begin(), shaped, [&](char letter) { return fits(letter, 'x'); }) &&
         std::equal(shaped, name.end(), kShape.begin(), fits);
}

}  // namespace

std::optional<std::string> read_line(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  if (!std::getline(stream, line)) return std::nullopt;
  return line;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  std::ranges::sort(names, [](const std::string& first, const std::string& second) {
    return ::strverscmp(first.c_str(), second.c_str()) < 0;
  });
  return names;
}

std::string pci_path_of(const fs::path& device) {
  std::error_code error;
  fs::path path = fs::canonical(device, error);
  if (error) return {};
  while (path.has_relative_path()) {
    if (is_pci_address(path.filename().string())) return path.string();
    path = path.parent_path();
  }
  return {};
}

int read_numa_node(const fs::path& pci_path) {
  if (pci_path.empty()) return -1;
  const std::optional<std::string> line = read_line(pci_path / "numa_node");
  return line ? static_cast<int>(std::strtol(line->c_str(), nullptr, 10)) : -1;
}

}  // namespace hoccl::hw
