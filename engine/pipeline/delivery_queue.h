#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <vector>

#include "engine/base/ids.h"
#include "engine/fabric.h"
#include "engine/pipeline/operation_state.h"

namespace hoccl::engine {

/// A landed chunk that a target has to pull.
struct Delivery {
  TargetFlow* flow = nullptr;
  Descriptor descriptor;
};

/// Landed chunks that wait for one copy engine of a target. Chunks for all ranks of a node land at
/// all its places at about the same time; if every rank pulled them in the order of their arrival,
/// all would pull from one place at once. So the place whose port is least used goes first; places
/// take turns among equals, and each rank begins with another one. But a place whose GPU is busy
/// all the time must not fall behind, or its NIC would run out of receive slots: of the places,
/// only those with about the most chunks waiting count. Chunks that go on to another node go before
/// all others, for they have the longest way before them.
class DeliveryQueue {
 public:
  void push(const Delivery& delivery);
  /// `load(place)` tells how much its port is used. `first`: the place to begin with. Needs one.
  Delivery take(PlaceId first, const std::function<int(PlaceId)>& load);
  /// Removes those of an operation and returns them.
  std::vector<Descriptor> drop(const OperationState& state);

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  struct AtPlace {
    PlaceId place;
    std::deque<Delivery> leaving;  ///< TargetFlow::leaves_again
    std::deque<Delivery> staying;
  };
  std::vector<AtPlace> places_;  ///< ascending
  PlaceId last_;                 ///< whose turn was last
  std::size_t size_ = 0;
};

}  // namespace hoccl::engine
