#include "engine/topology/description.h"

#include "engine/base/check.h"

namespace hoccl::engine {

std::string_view to_string(StagingKind kind) {
  switch (kind) {
    case StagingKind::kPeer:
      return "peer";
    case StagingKind::kHost:
      return "host";
  }
  HOCCL_CHECK(false, "staging kind {}", static_cast<int>(kind));
}

std::string_view to_string(WireKind kind) {
  switch (kind) {
    case WireKind::kNic:
      return "nic";
    case WireKind::kMap:
      return "map";
  }
  HOCCL_CHECK(false, "wire kind {}", static_cast<int>(kind));
}

}  // namespace hoccl::engine
