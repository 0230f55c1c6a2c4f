#include "tests/hw/job/status_format.h"

#include "tests/hw/job/wire_format.h"

namespace hoccl::hw {

using engine::Status;

std::string encode(const std::optional<Status>& status) {
  std::string text;
  if (!status) return text;
  append(text, status->cause);
  append(text, status->rank);
  append(text, status->peer);
  append(text, status->operation);
  append(text, status->flow);
  append(text, status->chunk);
  text += status->link;
  return text;
}

std::optional<Status> decode_status(std::string_view text) {
  if (text.empty()) return std::nullopt;
  Status status;
  status.cause = take<engine::Cause>(text);
  status.rank = take<engine::Rank>(text);
  status.peer = take<engine::Rank>(text);
  status.operation = take<engine::OperationId>(text);
  status.flow = take<engine::FlowId>(text);
  status.chunk = take<std::int64_t>(text);
  status.link = text;
  return status;
}

}  // namespace hoccl::hw
