#include "hw/fabric/hw_options.h"

#include <fmt/format.h>

#include "engine/base/config_error.h"

namespace hoccl::hw {

std::string_view to_string(CopyKind kind) {
  switch (kind) {
    case CopyKind::kHost:
      return "host";
    case CopyKind::kCuda:
      return "cuda";
  }
  return "?";
}

std::string_view to_string(GateKind kind) {
  switch (kind) {
    case GateKind::kMemoryOperations:
      return "memory-operations";
    case GateKind::kHostFunctions:
      return "host-functions";
  }
  return "?";
}

std::string_view to_string(LinkKind kind) {
  switch (kind) {
    case LinkKind::kLoopback:
      return "loopback";
    case LinkKind::kLoopbackMap:
      return "loopback-map";
    case LinkKind::kVerbs:
      return "verbs";
  }
  return "?";
}

CopyKind parse_copy_kind(std::string_view name) {
  for (const CopyKind kind : {CopyKind::kHost, CopyKind::kCuda}) {
    if (name == to_string(kind)) return kind;
  }
  throw engine::ConfigError(fmt::format("copy = '{}': expected host or cuda", name));
}

GateKind parse_gate_kind(std::string_view name) {
  for (const GateKind kind : {GateKind::kMemoryOperations, GateKind::kHostFunctions}) {
    if (name == to_string(kind)) return kind;
  }
  throw engine::ConfigError(
      fmt::format("gates = '{}': expected memory-operations or host-functions", name));
}

LinkKind parse_link_kind(std::string_view name) {
  for (const LinkKind kind : {LinkKind::kLoopback, LinkKind::kLoopbackMap, LinkKind::kVerbs}) {
    if (name == to_string(kind)) return kind;
  }
  throw engine::ConfigError(
      fmt::format("link = '{}': expected verbs, loopback or loopback-map", name));
}

}  // namespace hoccl::hw
