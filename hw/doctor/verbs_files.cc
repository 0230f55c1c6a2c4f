#include "hw/doctor/verbs_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>

#include "hw/nic/sysfs.h"
#include "hw/system/file_descriptor.h"

namespace hoccl::hw {
namespace {

namespace fs = std::filesystem;

/// Why a file cannot be opened; none when it can. Tried, because access() knows nothing of the
/// devices that a container's control group allows. An opened file reserves nothing.
std::optional<std::string> refusal(const fs::path& file) {
  const FileDescriptor opened(::open(file.c_str(), O_RDWR | O_CLOEXEC));
  if (opened) return std::nullopt;
  return fmt::format("{}: {}", file.string(), std::generic_category().message(errno));
}

/// The devices that have no file here although the kernel has made one for them.
std::vector<std::string> devices_without_file(const RdmaHost& host,
                                              const std::vector<std::string>& files,
                                              const std::vector<RdmaDevice>& devices) {
  const fs::path all = host.sys / "class" / "infiniband_verbs";
  std::vector<std::string> without;
  for (const std::string& name : names_in(all)) {
    const std::string device = read_line(all / name / "ibdev").value_or("");
    if (std::ranges::find(devices, device, &RdmaDevice::name) == devices.end()) continue;
    if (std::ranges::find(files, name) == files.end()) without.push_back(device);
  }
  return without;
}

}  // namespace

std::vector<std::string> verbs_files(const fs::path& dev) {
  std::vector<std::string> files = names_in(dev / "infiniband");
  std::erase_if(files, [](const std::string& name) { return !name.starts_with("uverbs"); });
  return files;
}

Check check_verbs_files(const RdmaHost& host, const std::vector<RdmaDevice>& devices) {
  const std::vector<std::string> files = verbs_files(host.dev);
  const fs::path folder = host.dev / "infiniband";
  if (files.empty()) {
    return {"verbs files", Finding::kWarning, fmt::format("no {}/uverbs<n>", folder.string()),
            "modprobe ib_uverbs, or give this container its NICs (--device=/dev/infiniband)"};
  }
  for (const std::string& file : files) {
    const std::optional<std::string> why = refusal(folder / file);
    if (!why) continue;
    return {"verbs files", Finding::kProblem, *why,
            "let this user read and write it (chmod a+rw, or a udev rule), and a container have it "
            "(--device)"};
  }
  const std::vector<std::string> without = devices_without_file(host, files, devices);
  if (!without.empty()) {
    return {"verbs files", Finding::kWarning, fmt::format("none for {}", fmt::join(without, ", ")),
            "name the other devices with --rdma-devices, or give this container the rest"};
  }
  return {"verbs files", Finding::kOk, fmt::format("{} open", fmt::join(files, ", ")), ""};
}

}  // namespace hoccl::hw
