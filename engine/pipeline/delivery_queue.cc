#include "engine/pipeline/delivery_queue.h"

#include <algorithm>

#include "engine/base/check.h"

namespace hoccl::engine {
namespace {

/// How many more chunks may wait at one place than at the next to be pulled from.
constexpr std::size_t kMostChunksBehind = 2;

}  // namespace

void DeliveryQueue::push(const Delivery& delivery) {
  const PlaceId place(delivery.descriptor.place);
  auto at = std::ranges::lower_bound(places_, place, {}, &AtPlace::place);
  if (at == places_.end() || at->place != place) at = places_.insert(at, {place, {}, {}});
  (delivery.flow->leaves_again ? at->leaving : at->staying).push_back(delivery);
  size_ += 1;
}

Delivery DeliveryQueue::take(PlaceId first, const std::function<int(PlaceId)>& load) {
  HOCCL_CHECK(size_ > 0, "no chunk waits");
  const bool any_leaves =
      std::ranges::any_of(places_, [](const AtPlace& at) { return !at.leaving.empty(); });
  const auto queue = any_leaves ? &AtPlace::leaving : &AtPlace::staying;
  // The places after the last one, counted round.
  const PlaceId after = last_.is_none() ? first : PlaceId(last_.value() + 1);
  const auto begin = static_cast<std::size_t>(
      std::ranges::lower_bound(places_, after, {}, &AtPlace::place) - places_.begin());
  std::size_t longest = 0;
  for (const AtPlace& at : places_) longest = std::max(longest, (at.*queue).size());
  AtPlace* best = nullptr;
  int least = 0;
  for (std::size_t tried = 0; tried < places_.size(); ++tried) {
    AtPlace& at = places_[(begin + tried) % places_.size()];
    const std::size_t waiting = (at.*queue).size();
    if (waiting == 0 || waiting + kMostChunksBehind < longest) continue;
    const int copies = load(at.place);
    if (best != nullptr && copies >= least) continue;
    best = &at;
    least = copies;
  }
  const Delivery delivery = (best->*queue).front();
  (best->*queue).pop_front();
  last_ = best->place;
  size_ -= 1;
  return delivery;
}

std::vector<Descriptor> DeliveryQueue::drop(const OperationState& state) {
  std::vector<Descriptor> dropped;
  for (AtPlace& at : places_) {
    for (std::deque<Delivery>* queue : {&at.leaving, &at.staying}) {
      std::erase_if(*queue, [&](const Delivery& delivery) {
        if (delivery.flow->operation != &state) return false;
        dropped.push_back(delivery.descriptor);
        return true;
      });
    }
  }
  size_ -= dropped.size();
  return dropped;
}

}  // namespace hoccl::engine
