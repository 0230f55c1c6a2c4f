#pragma once

#include <fmt/format.h>

#include <compare>
#include <cstdint>
#include <functional>

namespace hoccl::engine {

/// Names one operation on every rank without talking: collectives are numbered per communicator,
/// point-to-point operations per (communicator, source, target). Travels in descriptors, so its
/// layout is fixed.
struct OperationId {
  static constexpr std::uint16_t kCollective = 0xffff;

  std::uint16_t communicator = 0;
  std::uint16_t source = kCollective;
  std::uint16_t target = kCollective;
  std::uint16_t reserved = 0;
  std::uint32_t number = 0;

  constexpr auto operator<=>(const OperationId&) const = default;
};
static_assert(sizeof(OperationId) == 12);

}  // namespace hoccl::engine

template <>
struct std::hash<hoccl::engine::OperationId> {
  std::size_t operator()(const hoccl::engine::OperationId& id) const noexcept {
    std::uint64_t key = (std::uint64_t{id.communicator} << 48) ^ (std::uint64_t{id.source} << 32) ^
                        (std::uint64_t{id.target} << 16) ^ (std::uint64_t{id.number} << 20);
    key *= 0x9e3779b97f4a7c15ULL;
    return key ^ (key >> 29);
  }
};

template <>
struct fmt::formatter<hoccl::engine::OperationId> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  template <class Context>
  auto format(const hoccl::engine::OperationId& id, Context& context) const {
    if (id.source == hoccl::engine::OperationId::kCollective) {
      return fmt::format_to(context.out(), "{}#{}", id.communicator, id.number);
    }
    return fmt::format_to(context.out(), "{}:{}->{}#{}", id.communicator, id.source, id.target,
                          id.number);
  }
};
