#include "engine/schedule/coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <tuple>

namespace hoccl::engine {
namespace {

/// What a flow wants at one of its targets.
struct Wish {
  Rank source;
  Rank target;
  Bytes source_offset;
  Bytes target_offset;
  Bytes size;
  FlowClass flow_class = FlowClass::kForeground;

  [[nodiscard]] Bytes end() const { return target_offset + size; }
};

auto by_pair(const Delivery& delivery) {
  return std::tuple(delivery.origin, delivery.target, delivery.target_offset, delivery.transfer);
}
auto by_pair(const Wish& wish) {
  return std::tuple(wish.source, wish.target, wish.target_offset, std::size_t{0});
}
auto by_target(const Delivery& delivery) {
  return std::tuple(delivery.target, delivery.target_offset, delivery.transfer);
}

bool same_pair(const Delivery& delivery, const Delivery& other) {
  return delivery.origin == other.origin && delivery.target == other.target;
}

template <class Item, class Key>
std::vector<Item> sorted(std::vector<Item> items, Key key) {
  std::ranges::sort(items, [&](const Item& a, const Item& b) { return key(a) < key(b); });
  return items;
}

std::string bytes(Bytes begin, Bytes end) {
  return fmt::format("bytes {} to {}", begin.count(), end.count() - 1);
}

std::vector<Wish> wishes_of(const std::vector<Flow>& flows) {
  std::vector<Wish> wishes;
  for (const Flow& flow : flows) {
    if (flow.size == Bytes(0)) continue;
    const auto add = [&](Rank target) {
      wishes.push_back({flow.source, target, flow.source_offset, flow.target_offset, flow.size,
                        flow.flow_class});
    };
    add(flow.target);
    for (const Rank target : flow.more_targets) add(target);
  }
  return sorted(std::move(wishes), [](const Wish& wish) { return by_pair(wish); });
}

class Coverage {
 public:
  Coverage(const Plan& plan, Violations& violations) : plan_(plan), violations_(violations) {}

  /// Each byte of a target comes once; sorted by target.
  void check_overlaps(const std::vector<Delivery>& deliveries);
  /// Both sorted by pair.
  void check_wishes(std::span<const Delivery> deliveries, std::span<const Wish> wishes);

 private:
  void check_pair(std::span<const Delivery> deliveries, std::span<const Wish> wishes);
  void check_part(const Delivery& delivery, const Wish& wish);
  void expect_no_gap(const Wish& wish, Bytes covered, Bytes begin, const Delivery* before);

  [[nodiscard]] const Transfer& transfer_of(const Delivery& delivery) const {
    return plan_.transfers[delivery.transfer];
  }

  const Plan& plan_;
  Violations& violations_;
};

void Coverage::check_overlaps(const std::vector<Delivery>& deliveries) {
  const Delivery* last = nullptr;
  for (const Delivery& delivery : deliveries) {
    if (last != nullptr && last->target != delivery.target) last = nullptr;
    if (last != nullptr && delivery.target_offset < last->end()) {
      violations_.add(transfer_of(delivery), "delivers {} of rank {} again, after transfer {}",
                      bytes(delivery.target_offset, std::min(last->end(), delivery.end())),
                      delivery.target, transfer_of(*last).id);
    }
    if (last == nullptr || delivery.end() > last->end()) last = &delivery;
  }
}

void Coverage::check_wishes(std::span<const Delivery> deliveries, std::span<const Wish> wishes) {
  const auto pair_of = [](const auto& item) {
    return std::pair(std::get<0>(by_pair(item)), std::get<1>(by_pair(item)));
  };
  // The run of one pair at the front, cut off.
  const auto take = [&](auto& items, const auto& pair) {
    std::size_t count = 0;
    while (count < items.size() && pair_of(items[count]) == pair) ++count;
    const auto taken = items.first(count);
    items = items.subspan(count);
    return taken;
  };
  while (!deliveries.empty() || !wishes.empty()) {
    auto pair = deliveries.empty() ? pair_of(wishes.front()) : pair_of(deliveries.front());
    if (!wishes.empty()) pair = std::min(pair, pair_of(wishes.front()));
    const auto delivered = take(deliveries, pair);
    check_pair(delivered, take(wishes, pair));
  }
}

void Coverage::check_pair(std::span<const Delivery> deliveries, std::span<const Wish> wishes) {
  if (wishes.empty()) {
    for (const Delivery& delivery : deliveries) {
      violations_.add(transfer_of(delivery), "pattern {} sends nothing from rank {} to {}",
                      plan_.pattern, delivery.origin, delivery.target);
    }
    return;
  }
  auto next = deliveries.begin();
  for (std::size_t w = 0; w < wishes.size(); ++w) {
    const Wish& wish = wishes[w];
    Bytes covered = wish.target_offset;
    const Delivery* before = nullptr;
    // Up to the next wish of the pair; what lies outside this one, nobody asked for.
    while (next != deliveries.end() &&
           (w + 1 == wishes.size() || next->target_offset < wishes[w + 1].target_offset)) {
      const Delivery& delivery = *next++;
      if (delivery.target_offset < wish.target_offset || delivery.end() > wish.end()) {
        violations_.add(transfer_of(delivery), "delivers {} of rank {}, more than rank {} sends it",
                        bytes(delivery.target_offset, delivery.end()), delivery.target,
                        delivery.origin);
        continue;
      }
      check_part(delivery, wish);
      expect_no_gap(wish, covered, delivery.target_offset, before);
      covered = std::max(covered, delivery.end());
      before = &delivery;
    }
    expect_no_gap(wish, covered, wish.end(), before);
  }
}

void Coverage::check_part(const Delivery& delivery, const Wish& wish) {
  const Transfer& transfer = transfer_of(delivery);
  const Bytes expected = wish.source_offset + (delivery.target_offset - wish.target_offset);
  if (delivery.origin_offset != expected && transfer.after.is_none()) {
    violations_.add(
        transfer, "source offset {}: expected {} for the bytes that belong at target offset {}",
        transfer.source_offset.count(), expected.count(), transfer.target_offset.count());
  } else if (delivery.origin_offset != expected) {
    violations_.add(transfer,
                    "passes on bytes from source offset {} of rank {}: expected {} for those that "
                    "belong at target offset {}",
                    delivery.origin_offset.count(), delivery.origin, expected.count(),
                    transfer.target_offset.count());
  }
  if (delivery.flow_class != wish.flow_class) {
    violations_.add(transfer, "is not of the class of its flow from rank {} to rank {}",
                    wish.source, wish.target);
  }
}

void Coverage::expect_no_gap(const Wish& wish, Bytes covered, Bytes begin, const Delivery* before) {
  if (begin <= covered) return;
  violations_.add_line(fmt::format(
      "{}: {} from rank {} to rank {} are never delivered",
      before == nullptr ? "no transfer" : fmt::format("after transfer {}", transfer_of(*before).id),
      bytes(covered, begin), wish.source, wish.target));
}

}  // namespace

void check_coverage(const Plan& plan, const std::vector<Delivery>& deliveries,
                    const std::vector<Flow>& flows, Violations& violations) {
  Coverage coverage(plan, violations);
  const auto target_key = [](const Delivery& delivery) { return by_target(delivery); };
  const auto pair_key = [](const Delivery& delivery) { return by_pair(delivery); };
  coverage.check_overlaps(sorted(deliveries, target_key));
  coverage.check_wishes(sorted(deliveries, pair_key), wishes_of(flows));
}

std::vector<Flow> implied_flows(const std::vector<Delivery>& deliveries) {
  std::vector<Flow> flows;
  const Delivery* first = nullptr;
  const std::vector<Delivery> ordered =
      sorted(deliveries, [](const Delivery& delivery) { return by_pair(delivery); });
  for (const Delivery& delivery : ordered) {
    if (first == nullptr || !same_pair(*first, delivery)) {
      first = &delivery;
      flows.push_back({.source = delivery.origin,
                       .target = delivery.target,
                       .source_offset = delivery.origin_offset,
                       .target_offset = delivery.target_offset,
                       .size = delivery.size,
                       .flow_class = delivery.flow_class});
    }
    flows.back().size = std::max(flows.back().size, delivery.end() - first->target_offset);
  }
  return flows;
}

}  // namespace hoccl::engine
