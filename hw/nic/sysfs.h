#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace hoccl::hw {

// Reading sysfs, where files come and go, and where some that can be opened cannot be read.

/// The first line of a file; none where it cannot be read.
std::optional<std::string> read_line(const std::filesystem::path& file);

/// What lies in a folder, numbers in names compared as numbers: mlx5_2 before mlx5_10. Empty where
/// there is no such folder.
std::vector<std::string> names_in(const std::filesystem::path& folder);

/// The PCI device that `device` leads to, or the nearest one above it: a virtio or an auxiliary
/// device is a child of one. Empty when there is none.
std::string pci_path_of(const std::filesystem::path& device);

/// Of a PCI device; -1 when it is not known.
int read_numa_node(const std::filesystem::path& pci_path);

}  // namespace hoccl::hw
