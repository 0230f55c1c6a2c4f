#include "engine/schedule/stages.h"

#include <fmt/format.h>

#include <vector>

#include "engine/base/config_error.h"

namespace hoccl::engine {
namespace {

/// Stages taken at one direction of one NIC.
class Taken {
 public:
  [[nodiscard]] bool at(std::size_t stage) const {
    return stage < stages_.size() && stages_[stage];
  }
  void take(std::size_t stage) {
    if (stage >= stages_.size()) stages_.resize(stage + 1, false);
    stages_[stage] = true;
  }

 private:
  std::vector<bool> stages_;
};

}  // namespace

void assign_stages(std::span<Transfer> transfers, int nic_count) {
  std::vector<Taken> sending(static_cast<std::size_t>(nic_count));
  std::vector<Taken> receiving(static_cast<std::size_t>(nic_count));
  for (Transfer& transfer : transfers) {
    if (transfer.route != Route::kStaged) continue;
    Taken& send = sending[transfer.send_nic.index()];
    Taken& receive = receiving[transfer.receive_nic.index()];
    std::size_t stage = 0;
    while (send.at(stage) || receive.at(stage)) ++stage;
    if (stage > static_cast<std::size_t>(kMaxStage)) {
      throw ConfigError(
          fmt::format("pattern needs stage {}: expected at most {}", stage, kMaxStage));
    }
    send.take(stage);
    receive.take(stage);
    transfer.stage = static_cast<std::int32_t>(stage);
  }
}

}  // namespace hoccl::engine
