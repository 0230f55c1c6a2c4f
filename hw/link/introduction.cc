#include "hw/link/introduction.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace hoccl::hw {
namespace {

constexpr std::uint32_t kMagic = 0x69726468;  // "hdri"
constexpr std::uint32_t kMaxEntries = 4096;   // NICs of a node's topology, places of a rank

struct Head {
  std::uint32_t magic = kMagic;
  std::uint32_t nics = 0;
  std::uint32_t serving = 0;
  std::uint32_t places = 0;
};
struct SentPlace {
  std::int32_t place = -1;
  std::uint32_t reserved = 0;
  std::uint64_t address = 0;
  std::array<std::uint32_t, kMaxNics> keys{};
};
static_assert(std::has_unique_object_representations_v<Head> &&
              std::has_unique_object_representations_v<SentPlace> &&
              std::has_unique_object_representations_v<NicAddress>);

template <class Value>
void put(std::string& bytes, const Value& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}
/// The bytes are known to be there.
template <class Value>
Value take(std::string_view& bytes) {
  Value value;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return value;
}

}  // namespace

std::string encode(const LinkIntroduction& introduction) {
  std::string bytes;
  put(bytes, Head{kMagic, static_cast<std::uint32_t>(introduction.nics.size()),
                  static_cast<std::uint32_t>(introduction.serving.size()),
                  static_cast<std::uint32_t>(introduction.places.size())});
  for (const NicAddress& nic : introduction.nics) put(bytes, nic);
  for (const std::uint32_t nic : introduction.serving) put(bytes, nic);
  for (const LinkIntroduction::Place& place : introduction.places) {
    put(bytes, SentPlace{place.place.value(), 0, place.address, place.keys});
  }
  return bytes;
}

std::optional<LinkIntroduction> decode_introduction(std::string_view bytes) {
  if (bytes.size() < sizeof(Head)) return std::nullopt;
  const Head head = take<Head>(bytes);
  const bool plausible = head.magic == kMagic && head.nics <= kMaxNics &&
                         head.serving <= kMaxEntries && head.places <= kMaxEntries;
  if (!plausible || bytes.size() != head.nics * sizeof(NicAddress) +
                                        head.serving * sizeof(std::uint32_t) +
                                        head.places * sizeof(SentPlace)) {
    return std::nullopt;
  }
  LinkIntroduction result;
  for (std::uint32_t i = 0; i < head.nics; ++i) result.nics.push_back(take<NicAddress>(bytes));
  for (std::uint32_t i = 0; i < head.serving; ++i) {
    result.serving.push_back(take<std::uint32_t>(bytes));
  }
  for (std::uint32_t i = 0; i < head.places; ++i) {
    const auto place = take<SentPlace>(bytes);
    if (place.place < 0) return std::nullopt;
    result.places.push_back({engine::PlaceId(place.place), place.address, place.keys});
  }
  const bool in_range = std::ranges::all_of(
      result.serving, [&](std::uint32_t nic) { return nic < result.nics.size(); });
  if (!in_range) return std::nullopt;
  return result;
}

}  // namespace hoccl::hw
