#pragma once

#include "engine/base/units.h"

namespace hoccl::contention {

/// What has been moved since the start.
struct Moved {
  engine::Bytes to_host;
  engine::Bytes to_device;
  engine::Bytes by_sms;  ///< within the GPU, each byte once
};

/// Traffic that runs beside the products.
class Load {
 public:
  virtual ~Load() = default;
  /// Returns when traffic flows.
  virtual void start() = 0;
  /// From any thread.
  [[nodiscard]] virtual Moved moved() const = 0;
  /// Returns when the GPU is idle again.
  virtual void stop() = 0;
};

}  // namespace hoccl::contention
