#include "hw/nic/nvidia_gpus.h"

#include <algorithm>
#include <cctype>

#include "hw/nic/sysfs.h"

namespace hoccl::hw {

std::vector<NvidiaGpu> read_nvidia_gpus(const std::filesystem::path& sys) {
  const std::filesystem::path all = sys / "bus" / "pci" / "devices";
  std::vector<NvidiaGpu> gpus;
  for (const std::string& name : names_in(all)) {
    if (read_line(all / name / "vendor") != "0x10de") continue;
    // Class 03: displays, of which 0300 can show a picture and 0302 cannot. The same vendor's
    // sound functions and NVSwitches are of other classes.
    if (!read_line(all / name / "class").value_or("").starts_with("0x03")) continue;
    const std::string path = pci_path_of(all / name);
    gpus.push_back({.pci_path = path, .numa_node = read_numa_node(path)});
  }
  return gpus;
}

std::string pci_path_at(const std::string& bus_id, const std::filesystem::path& sys) {
  std::string name = bus_id;  // sysfs has small letters, CUDA capital ones
  std::ranges::transform(name, name.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return pci_path_of(sys / "bus" / "pci" / "devices" / name);
}

}  // namespace hoccl::hw
