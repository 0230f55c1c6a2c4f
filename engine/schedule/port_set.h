#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hoccl::engine {

/// A set of ports, a bit each; its words can be combined with those of others.
class PortSet {
 public:
  using Port = std::int32_t;
  using Word = std::uint64_t;
  static constexpr int kWordBits = 64;

  explicit PortSet(std::size_t words) : words_(words, 0) {}

  void insert(Port port) { word_of(port) |= bit_of(port); }
  void erase(Port port) { word_of(port) &= ~bit_of(port); }
  [[nodiscard]] Word word(std::size_t w) const { return words_[w]; }
  Word& word(std::size_t w) { return words_[w]; }
  void clear() { std::ranges::fill(words_, 0); }
  [[nodiscard]] std::size_t words() const { return words_.size(); }

  /// Calls f for each member, which f may erase.
  template <class F>
  void for_each(F f) const {
    for (std::size_t w = 0; w < words_.size(); ++w) {
      for (Word rest = words_[w]; rest != 0; rest &= rest - 1) {
        f(static_cast<Port>(w * kWordBits) + std::countr_zero(rest));
      }
    }
  }

 private:
  static Word bit_of(Port port) { return Word{1} << (port % kWordBits); }
  Word& word_of(Port port) { return words_[static_cast<std::size_t>(port / kWordBits)]; }

  std::vector<Word> words_;
};

}  // namespace hoccl::engine
