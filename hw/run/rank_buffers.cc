#include "hw/run/rank_buffers.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/rank_share.h"
#include "hw/run/byte_check.h"

namespace hoccl::hw {

using engine::Bytes;
using engine::Flow;
using engine::Region;

namespace {

constexpr Bytes kGuard{4096};
constexpr std::byte kScribble{0xa5};

Region with_guard(const Region& buffer, Bytes used) {
  return {buffer.buffer, buffer.offset, used + kGuard};
}

}  // namespace

RankBuffers::RankBuffers(HwFabric& fabric, std::span<const Flow> flows) : fabric_(fabric) {
  const engine::BufferSizes sizes = engine::buffer_sizes(flows, fabric.rank());
  send_ = allocate(sizes.send);
  receive_ = allocate(sizes.receive);
}

/// A rank that sends or receives nothing needs no buffer.
Region RankBuffers::allocate(Bytes size) {
  if (size == Bytes(0)) return {};
  return {fabric_.allocate(size + kGuard), Bytes(0), size};
}

void RankBuffers::prepare(std::span<const Flow> flows, std::uint64_t seed,
                          std::uint64_t operation) {
  const engine::BufferSizes sizes = engine::buffer_sizes(flows, fabric_.rank());
  if (sizes.send > Bytes(0)) {
    std::vector<std::byte> message(static_cast<std::size_t>(sizes.send.count()));
    ByteMessage(seed, fabric_.rank(), operation).fill(message);
    fabric_.write({send_.buffer, send_.offset, sizes.send}, message);
  }
  if (sizes.receive > Bytes(0)) {
    const Region region = with_guard(receive_, sizes.receive);
    const std::vector<std::byte> scribble(static_cast<std::size_t>(region.size.count()), kScribble);
    fabric_.write(region, scribble);
  }
}

std::vector<std::byte> RankBuffers::received(Bytes offset, Bytes size) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(size.count()));
  fabric_.read(bytes, {receive_.buffer, offset, size});
  return bytes;
}

std::string RankBuffers::wrong(std::span<const Flow> flows, std::uint64_t seed,
                               std::uint64_t operation) {
  const auto describe = [&](Bytes offset, std::byte expected, std::byte found,
                            const std::string& whose) {
    return fmt::format(
        "rank {}: wrong byte at offset {} of the receive buffer: expected {:#04x} {}, "
        "found {:#04x}",
        fabric_.rank(), offset.count(), static_cast<int>(expected), whose, static_cast<int>(found));
  };
  for (const Flow& flow : flows) {
    if (!engine::is_for(flow, fabric_.rank()) || flow.size == Bytes(0)) continue;
    const ByteMessage message(seed, flow.source, operation);
    const auto difference =
        message.difference(received(flow.target_offset, flow.size),
                           static_cast<std::size_t>(flow.source_offset.count()));
    if (!difference) continue;
    return describe(flow.target_offset + Bytes(static_cast<std::int64_t>(difference->position)),
                    difference->expected, difference->found,
                    fmt::format("from rank {}", flow.source));
  }
  const Bytes used = engine::buffer_sizes(flows, fabric_.rank()).receive;
  if (used == Bytes(0)) return {};
  const auto guard = received(used, kGuard);
  const auto touched = std::ranges::find_if(guard, [](std::byte b) { return b != kScribble; });
  if (touched == guard.end()) return {};
  return describe(used + Bytes(touched - guard.begin()), kScribble, *touched, "behind the message");
}

}  // namespace hoccl::hw
