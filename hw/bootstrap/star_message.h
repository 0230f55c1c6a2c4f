#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hw/bootstrap/frame.h"

namespace hoccl::hw {

/// The most that one rank contributes to an exchange.
inline constexpr std::size_t kMaxBlob = kMaxFramePayload - 1;

enum class StarMessage : std::uint8_t { kUnknown, kBlob, kFailure };

/// The payload of a frame: kind, text.
inline std::string make_star_message(StarMessage kind, std::string_view text) {
  return std::string(1, static_cast<char>(kind)).append(text);
}

struct StarMessageReading {
  StarMessage kind = StarMessage::kUnknown;
  std::string_view text;  ///< part of the payload
};
inline StarMessageReading read_star_message(std::string_view payload) {
  if (payload.empty()) return {};
  const auto kind = static_cast<StarMessage>(payload.front());
  if (kind != StarMessage::kBlob && kind != StarMessage::kFailure) return {};
  return {.kind = kind, .text = payload.substr(1)};
}

}  // namespace hoccl::hw
