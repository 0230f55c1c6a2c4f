#pragma once

#include <filesystem>
#include <string>

namespace hoccl::hw {

/// What a host's kernel would show in /sys and /dev, in a folder of its own. An RDMA device has the
/// name of a PCI device's path or of none.
class FakeHost {
 public:
  FakeHost();
  ~FakeHost();
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;

  [[nodiscard]] std::filesystem::path sys() const { return folder_ / "sys"; }
  [[nodiscard]] std::filesystem::path dev() const { return folder_ / "dev"; }

  /// `path`, as "sys/module/nvidia/taint", gets one line.
  void write(const std::filesystem::path& path, const std::string& text) const;

  /// `path` is as "pci0000:00/0000:00:01.0/0000:01:00.0". Returns its canonical path.
  std::string add_pci_device(const std::string& path, int numa_node) const;
  void add_gpu(const std::string& path, int numa_node) const;
  /// With a parent of no PCI device when `parent` is empty.
  void add_rdma_device(const std::string& name, const std::string& parent = "") const;
  void add_port(const std::string& device, int port, const std::string& state = "4: ACTIVE",
                const std::string& link_layer = "Ethernet") const;
  /// An entry whose type is empty has none that could be read, as one that is not in use.
  void add_gid(const std::string& device, int port, int index, const std::string& gid,
               const std::string& type = "RoCE v2", const std::string& net_device = "eth0") const;
  /// The file of an RDMA device, which this process can open or cannot.
  void add_verbs_file(const std::string& name, const std::string& device, bool can_open) const;

 private:
  [[nodiscard]] std::filesystem::path port_folder(const std::string& device, int port) const;

  std::filesystem::path folder_;
};

}  // namespace hoccl::hw
