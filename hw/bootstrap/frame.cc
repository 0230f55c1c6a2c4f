#include "hw/bootstrap/frame.h"

#include <array>
#include <span>

#include "engine/base/check.h"
#include "hw/bootstrap/wire_bytes.h"

namespace hoccl::hw {

namespace {

constexpr std::size_t kHeaderSize = 4;

Mac frame_mac(const MacKey& key, std::uint64_t number, std::string_view header_and_payload) {
  std::array<std::byte, 8> number_bytes;
  put_u64(number_bytes, number);
  return compute_mac(key, {number_bytes, bytes_of(header_and_payload)});
}

}  // namespace

void FrameWriter::append(std::string_view payload, std::string& target) {
  HOCCL_CHECK(payload.size() <= kMaxFramePayload, "a frame of {} bytes", payload.size());
  const std::size_t start = target.size();
  std::array<char, kHeaderSize> header;
  put_u32(std::as_writable_bytes(std::span(header)), static_cast<std::uint32_t>(payload.size()));
  target.append(header.data(), header.size()).append(payload);
  const Mac mac = frame_mac(key_, number_++, std::string_view(target).substr(start));
  target.append(reinterpret_cast<const char*>(mac.data()), mac.size());
}

std::optional<std::string> FrameReader::next() {
  if (fault_ != FrameFault::kNone || pending_.size() < kHeaderSize) return std::nullopt;
  const std::size_t payload_size = get_u32(bytes_of(pending_));
  if (payload_size > kMaxFramePayload) {
    fault_ = FrameFault::kOversized;
    return std::nullopt;
  }
  const std::size_t signed_size = kHeaderSize + payload_size;
  if (pending_.size() < signed_size + sizeof(Mac)) return std::nullopt;
  const Mac expected =
      frame_mac(key_, number_++, std::string_view(pending_).substr(0, signed_size));
  const auto mac = bytes_of(pending_).subspan(signed_size).first<sizeof(Mac)>();
  if (!equal_macs(expected, mac)) {
    fault_ = FrameFault::kForged;
    return std::nullopt;
  }
  std::string payload = pending_.substr(kHeaderSize, payload_size);
  pending_.erase(0, signed_size + sizeof(Mac));
  return payload;
}

}  // namespace hoccl::hw
