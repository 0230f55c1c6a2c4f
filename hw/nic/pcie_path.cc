#include "hw/nic/pcie_path.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace hoccl::hw {
namespace {

/// The folders that a device lies in: what leads to its host bridge ("pci0000:00"), and then every
/// bridge on the way from there, the root port first.
std::vector<std::string_view> folders_above(std::string_view path) {
  std::vector<std::string_view> folders;
  std::size_t begin = 0;
  for (std::size_t end = path.find('/'); end != std::string_view::npos;
       begin = end + 1, end = path.find('/', begin)) {
    folders.push_back(path.substr(begin, end - begin));
  }
  return folders;
}

bool is_host_bridge(std::string_view folder) { return folder.starts_with("pci"); }

}  // namespace

PcieDistance pcie_distance(std::string_view path_a, std::string_view path_b, int numa_a,
                           int numa_b) {
  if (path_a.empty() || path_b.empty()) return PcieDistance::kUnknown;
  const std::vector<std::string_view> a = folders_above(path_a);
  const std::vector<std::string_view> b = folders_above(path_b);
  const auto common_end = std::ranges::mismatch(a, b).in1;
  // The last one counts: a volume management device has a host bridge of its own behind a port.
  const auto bridges =
      std::find_if(std::make_reverse_iterator(common_end), a.rend(), is_host_bridge).base();
  if (bridges != a.begin()) {
    return common_end - bridges >= 2 ? PcieDistance::kSameSwitch : PcieDistance::kSameRootComplex;
  }
  if (numa_a < 0 || numa_b < 0) return PcieDistance::kUnknown;
  return numa_a == numa_b ? PcieDistance::kSameNuma : PcieDistance::kFar;
}

std::string_view to_string(PcieDistance distance) {
  switch (distance) {
    case PcieDistance::kSameSwitch:
      return "same PCIe switch";
    case PcieDistance::kSameRootComplex:
      return "same root complex";
    case PcieDistance::kSameNuma:
      return "same NUMA node";
    case PcieDistance::kFar:
      return "another NUMA node";
    case PcieDistance::kUnknown:
      return "unknown";
  }
  return "?";
}

}  // namespace hoccl::hw
