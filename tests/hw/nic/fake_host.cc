#include "tests/hw/nic/fake_host.h"

#include <stdlib.h>

#include <fstream>

namespace hoccl::hw {

namespace fs = std::filesystem;

FakeHost::FakeHost() {
  std::string name = (fs::temp_directory_path() / "hoccl-fake-host-XXXXXX").string();
  // Canonical, as what is read from it is.
  folder_ = fs::canonical(::mkdtemp(name.data()));
}

FakeHost::~FakeHost() { fs::remove_all(folder_); }

void FakeHost::write(const fs::path& path, const std::string& text) const {
  fs::create_directories((folder_ / path).parent_path());
  std::ofstream(folder_ / path) << text << '\n';
}

std::string FakeHost::add_pci_device(const std::string& path, int numa_node) const {
  write("sys/devices/" + path + "/numa_node", std::to_string(numa_node));
  return (sys() / "devices" / path).string();
}

void FakeHost::add_gpu(const std::string& path, int numa_node) const {
  const fs::path device = add_pci_device(path, numa_node);
  write(device / "vendor", "0x10de");
  write(device / "class", "0x030200");
  const fs::path all = sys() / "bus" / "pci" / "devices";
  fs::create_directories(all);
  fs::create_directory_symlink(device, all / device.filename());
}

void FakeHost::add_rdma_device(const std::string& name, const std::string& parent) const {
  const fs::path above = sys() / "devices" / (parent.empty() ? "virtual" : parent);
  const fs::path device = above / "infiniband" / name;
  fs::create_directories(device);
  if (!parent.empty()) fs::create_directory_symlink("../..", device / "device");
  fs::create_directories(sys() / "class" / "infiniband");
  fs::create_directory_symlink(device, sys() / "class" / "infiniband" / name);
}

fs::path FakeHost::port_folder(const std::string& device, int port) const {
  return sys() / "class" / "infiniband" / device / "ports" / std::to_string(port);
}

void FakeHost::add_port(const std::string& device, int port, const std::string& state,
                        const std::string& link_layer) const {
  const fs::path folder = port_folder(device, port);
  write(folder / "state", state);
  write(folder / "link_layer", link_layer);
  write(folder / "lid", "0x1f");
  write(folder / "rate", "100 Gb/sec (4X EDR)");
}

void FakeHost::add_gid(const std::string& device, int port, int index, const std::string& gid,
                       const std::string& type, const std::string& net_device) const {
  const fs::path folder = port_folder(device, port);
  const std::string name = std::to_string(index);
  write(folder / "gids" / name, gid);
  if (type.empty()) {
    // As what is not in use in sysfs, a folder can be opened and not be read.
    fs::create_directories(folder / "gid_attrs" / "types" / name);
    return;
  }
  write(folder / "gid_attrs" / "types" / name, type);
  write(folder / "gid_attrs" / "ndevs" / name, net_device);
}

void FakeHost::add_verbs_file(const std::string& name, const std::string& device,
                              bool can_open) const {
  write(sys() / "class" / "infiniband_verbs" / name / "ibdev", device);
  const fs::path file = dev() / "infiniband" / name;
  if (can_open) return write(file, "");
  fs::create_directories(file.parent_path());
  fs::create_symlink("nothing", file);  // root may open anything that there is
}

}  // namespace hoccl::hw
