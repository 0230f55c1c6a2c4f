#include "hw/verbs/completion_words.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace hoccl::hw {

std::string to_string(const std::array<std::byte, 16>& gid) {
  constexpr std::array<unsigned char, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool is_ipv4 = std::memcmp(gid.data(), kMapped.data(), kMapped.size()) == 0;
  const char* result =
      is_ipv4 ? ::inet_ntop(AF_INET, gid.data() + kMapped.size(), text.data(), text.size())
              : ::inet_ntop(AF_INET6, gid.data(), text.data(), text.size());
  return result == nullptr ? "?" : result;
}

std::string_view likely_cause(ibv_wc_status status) {
  switch (static_cast<int>(status)) {  // causes are known of a few of its values only
    case IBV_WC_RETRY_EXC_ERR:
      return "no answer: the link or the peer is down, the GID index or the MTU is wrong for the "
             "path, or a switch drops these packets";
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return "the peer takes nothing: its proxy has stopped";
    case IBV_WC_WR_FLUSH_ERR:
      return "the queue pair was in error before";
    case IBV_WC_LOC_PROT_ERR:
      return "this NIC may not read that memory: its registration has gone, or PCIe access control "
             "(ACS) or an IOMMU forbids peer-to-peer traffic";
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_REM_INV_REQ_ERR:
      return "the peer's NIC refuses the memory: its registration has gone";
    case IBV_WC_REM_OP_ERR:
      return "the peer's NIC could not write to its memory, or its queue pair is in error";
    case IBV_WC_FATAL_ERR:
    case IBV_WC_GENERAL_ERR:
      return "the NIC has failed: see the kernel's log";
    default:
      return {};
  }
}

std::string describe_failure(ibv_wc_status status, std::uint32_t vendor_code,
                             const std::string& device, const NicAddress& local,
                             const NicAddress& remote) {
  std::string words = fmt::format("{} ({}, vendor {}) from {} {} to {}",
                                  ::ibv_wc_status_str(status), static_cast<int>(status),
                                  vendor_code, device, to_string(local.gid), to_string(remote.gid));
  const std::string_view cause = likely_cause(status);
  if (!cause.empty()) words.append(": ").append(cause);
  return words;
}

bool is_path_failure(ibv_wc_status status) {
  return status == IBV_WC_RETRY_EXC_ERR || status == IBV_WC_RNR_RETRY_EXC_ERR ||
         status == IBV_WC_RESP_TIMEOUT_ERR || status == IBV_WC_REM_ABORT_ERR;
}

}  // namespace hoccl::hw
