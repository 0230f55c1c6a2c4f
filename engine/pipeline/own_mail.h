#pragma once

#include <deque>
#include <utility>

#include "engine/forwarding_port.h"

namespace hoccl::engine {

/// Keeps what a proxy says to itself: its executor and its stagers speak in messages, because they
/// may be of different ranks, but where they are of one no message needs to go round.
class OwnMail final : public ForwardingPort {
 public:
  using ForwardingPort::ForwardingPort;

  void post_message(Rank target, const Message& message) override {
    if (target == rank()) {
      account(CpuWork::kBookkeeping, 1);
      kept_.push_back(message);
    } else {
      ForwardingPort::post_message(target, message);
    }
  }

  [[nodiscard]] bool empty() const { return kept_.empty(); }
  /// The oldest.
  Message take() {
    const Message message = kept_.front();
    kept_.pop_front();
    return message;
  }

 private:
  std::deque<Message> kept_;
};

}  // namespace hoccl::engine
