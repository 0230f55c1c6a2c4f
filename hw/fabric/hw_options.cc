#include "hw/fabric/hw_options.h"

#include <fmt/format.h>

#include "engine/base/config_error.h"

namespace hoccl::hw {

std::string_view to_string(CopyKind kind) {
  switch (kind) {
    case CopyKind::kHost:
      return "host";
  }
  return "?";
}

std::string_view to_string(LinkKind kind) {
  switch (kind) {
    case LinkKind::kLoopback:
      return "loopback";
    case LinkKind::kLoopbackMap:
      return "loopback-map";
  }
  return "?";
}

CopyKind parse_copy_kind(std::string_view name) {
  if (name == to_string(CopyKind::kHost)) return CopyKind::kHost;
  throw engine::ConfigError(fmt::format("copy = '{}': expected host (cuda is not built)", name));
}

LinkKind parse_link_kind(std::string_view name) {
  for (const LinkKind kind : {LinkKind::kLoopback, LinkKind::kLoopbackMap}) {
    if (name == to_string(kind)) return kind;
  }
  throw engine::ConfigError(
      fmt::format("link = '{}': expected loopback or loopback-map (verbs is not built)", name));
}

}  // namespace hoccl::hw
