#include "engine/pipeline/messages.h"

namespace hoccl::engine {

std::string_view to_string(MessageKind kind) {
  switch (kind) {
    case MessageKind::kReady:
      return "ready";
    case MessageKind::kLeaseRequest:
      return "lease request";
    case MessageKind::kLeaseGrant:
      return "lease grant";
    case MessageKind::kLeaseCancel:
      return "lease cancel";
    case MessageKind::kSlotReturn:
      return "slot return";
    case MessageKind::kStaged:
      return "staged";
    case MessageKind::kFlowSent:
      return "flow sent";
    case MessageKind::kCreditRequest:
      return "credit request";
    case MessageKind::kCredit:
      return "credit";
    case MessageKind::kCreditCancel:
      return "credit cancel";
    case MessageKind::kCreditReturn:
      return "credit return";
    case MessageKind::kLanded:
      return "landed";
    case MessageKind::kPulled:
      return "pulled";
    case MessageKind::kDelivered:
      return "delivered";
    case MessageKind::kFailed:
      return "failed";
    case MessageKind::kStopped:
      return "stopped";
    case MessageKind::kLeaseBranch:
      return "lease branch";
    case MessageKind::kStageDone:
      return "stage done";
    case MessageKind::kStageOpen:
      return "stage open";
    case MessageKind::kCounts:
      return "counts";
    case MessageKind::kWritten:
      return "written";
  }
  return "message";
}

}  // namespace hoccl::engine
