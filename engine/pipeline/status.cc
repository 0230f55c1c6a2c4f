#include <fmt/format.h>

#include "engine/fabric.h"
#include "engine/pipeline/messages.h"

namespace hoccl::engine {
namespace {

std::string_view name_of(Cause cause) {
  switch (cause) {
    case Cause::kNone:
      return "ok";
    case Cause::kLinkError:
      return "link error";
    case Cause::kCopyError:
      return "copy error";
    case Cause::kTimeout:
      return "timeout";
    case Cause::kPeerLost:
      return "peer lost";
    case Cause::kSizeMismatch:
      return "size mismatch";
    case Cause::kAborted:
      return "aborted";
  }
  return "?";
}

}  // namespace

std::string_view to_string(CopyClass copy_class) {
  switch (copy_class) {
    case CopyClass::kPeer:
      return "peer";
    case CopyClass::kDeviceToHost:
      return "d2h";
    case CopyClass::kHostToDevice:
      return "h2d";
  }
  return "?";
}

std::string to_string(const LinkName& link) {
  switch (link.kind) {
    case LinkName::Kind::kNone:
      return "none";
    case LinkName::Kind::kNicPair:
      return fmt::format("nic {} -> nic {}", link.first, link.second);
    case LinkName::Kind::kCopyLane:
      return fmt::format("copy engine {} lane {}",
                         to_string(static_cast<CopyClass>(link.copy_class)), link.first);
    case LinkName::Kind::kExport:
      return "buffer export";
    case LinkName::Kind::kRegister:
      return "buffer registration";
    case LinkName::Kind::kImport:
      return "buffer import";
  }
  return "?";
}

std::string to_string(const Status& status) {
  if (status.ok()) return "ok";
  std::string text = fmt::format("{}: operation {}, seen by rank {}", name_of(status.cause),
                                 status.operation, status.rank);
  if (!status.peer.is_none()) text += fmt::format(", peer rank {}", status.peer);
  if (!status.link.empty() && status.link != "none") text += fmt::format(", link {}", status.link);
  if (!status.flow.is_none()) text += fmt::format(", flow {}", status.flow);
  if (status.chunk >= 0) text += fmt::format(", chunk {}", status.chunk);
  return text;
}

}  // namespace hoccl::engine
