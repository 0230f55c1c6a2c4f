#include "engine/pipeline/count_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "engine/base/check.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

CountExchange::CountExchange(Port& port, const PipelineOptions& options, Observers observers)
    : port_(port), options_(options), observers_(std::move(observers)) {}

void CountExchange::begin(const Operation& operation) {
  Waiting waiting;
  waiting.operation = operation;
  if (operation.members != nullptr) {
    waiting.members = *operation.members;
  } else {
    for (int rank = 0; rank < port_.topology().rank_count(); ++rank) {
      waiting.members.emplace_back(rank);
    }
  }
  HOCCL_CHECK(operation.counts->row.size() == waiting.members.size(), "{} counts for {} ranks",
              operation.counts->row.size(), waiting.members.size());
  const OperationId id = operation.id;
  const auto [entry, is_new] = waiting_.emplace(id, std::move(waiting));
  HOCCL_CHECK(is_new, "operation {} added twice", id);
  for (const Rank member : entry->second.members) {
    if (!lost_.contains(member)) continue;
    end(id, status_of(Cause::kPeerLost, member), member);
    return;
  }
  send_row(entry->second);
  rows_[id].rows[port_.rank()] = operation.counts->row;
  plan_if_complete(id);
}

Status CountExchange::status_of(Cause cause, Rank peer) const {
  Status status;
  status.cause = cause;
  status.rank = port_.rank();
  status.peer = peer;
  return status;
}

void CountExchange::send_row(const Waiting& waiting) {
  const std::vector<std::int64_t>& row = waiting.operation.counts->row;
  for (const Rank member : waiting.members) {
    if (member == port_.rank()) continue;
    for (std::size_t first = 0; first < row.size(); first += CountsMessage::kCapacity) {
      CountsMessage message;
      message.operation = waiting.operation.id;
      message.count =
          static_cast<std::uint8_t>(std::min(CountsMessage::kCapacity, row.size() - first));
      std::copy_n(row.begin() + static_cast<std::ptrdiff_t>(first), message.count,
                  message.bytes.begin());
      port_.post_message(member, pack(message));
    }
  }
}

void CountExchange::counts(Rank source, const CountsMessage& message) {
  std::vector<std::int64_t>& row = rows_[message.operation].rows[source];
  row.insert(row.end(), message.bytes.begin(), message.bytes.begin() + message.count);
  if (waiting_.contains(message.operation)) plan_if_complete(message.operation);
}

void CountExchange::plan_if_complete(const OperationId& id) {
  const Waiting& waiting = waiting_.at(id);
  const auto& rows = rows_.at(id).rows;
  const std::size_t count = waiting.members.size();
  if (rows.size() < count) return;
  const auto is_short = [&](const auto& entry) { return entry.second.size() < count; };
  if (std::ranges::any_of(rows, is_short)) return;
  TrafficMatrix matrix(static_cast<Eigen::Index>(count), static_cast<Eigen::Index>(count));
  Eigen::Index number = 0;
  for (const auto& [rank, row] : rows) {
    HOCCL_CHECK(row.size() == count, "rank {} sent {} counts for {} ranks", rank, row.size(),
                count);
    std::ranges::copy(row, matrix.row(number++).begin());
  }
  port_.account(CpuWork::kPlanCount, static_cast<std::int64_t>(count * count));
  Operation operation = waiting.operation;
  const bool started = waiting.started;
  operation.plan = operation.counts->plan(matrix);
  if (operation.plan == nullptr) {
    end(id, status_of(Cause::kSizeMismatch, port_.rank()), port_.rank());
    return;
  }
  waiting_.erase(id);
  rows_.erase(id);
  observers_.planned(operation);
  if (started) observers_.start(id);
}

bool CountExchange::start(const OperationId& id) {
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return false;
  found->second.started = true;
  found->second.started_at = port_.now();
  return true;
}

/// Ends an operation that will not be planned, and tells the others. `reporter` knows already.
void CountExchange::end(const OperationId& id, Status status, Rank reporter) {
  const auto node = waiting_.extract(id);
  rows_.erase(id);
  status.operation = id;
  FailedMessage message;
  message.cause = status.cause;
  message.operation = id;
  message.rank = status.rank;
  message.peer = status.peer;
  for (const Rank member : node.mapped().members) {
    if (member != port_.rank() && member != reporter) port_.post_message(member, pack(message));
  }
  observers_.ended(id, status);
}

bool CountExchange::failed(Rank reporter, const FailedMessage& message) {
  if (!waiting_.contains(message.operation)) return false;
  Status status = status_of(message.cause, message.peer);
  status.rank = message.rank;
  status.link = to_string(message.link);
  end(message.operation, status, reporter);
  return true;
}

void CountExchange::peer_lost(Rank peer) {
  lost_.insert(peer);
  std::vector<OperationId> victims;
  for (const auto& [id, waiting] : waiting_) {
    if (std::ranges::binary_search(waiting.members, peer)) victims.push_back(id);
  }
  for (const OperationId& id : victims) {
    end(id, status_of(Cause::kPeerLost, peer), peer);
  }
}

void CountExchange::abort(std::uint16_t communicator) {
  std::vector<OperationId> victims;
  for (const auto& [id, waiting] : waiting_) {
    if (id.communicator == communicator) victims.push_back(id);
  }
  for (const OperationId& id : victims) {
    end(id, status_of(Cause::kAborted, Rank::none()), port_.rank());
  }
}

void CountExchange::end_overdue(Seconds now) {
  std::vector<std::pair<OperationId, Rank>> overdue;
  for (const auto& [id, waiting] : waiting_) {
    if (!waiting.started || waiting.started_at + options_.timeout > now) continue;
    const auto& rows = rows_.at(id).rows;
    const std::vector<Rank>& members = waiting.members;  // clang 14 captures no structured binding
    const auto silent = std::ranges::find_if(members, [&](Rank member) {
      const auto row = rows.find(member);
      return row == rows.end() || row->second.size() < members.size();
    });
    overdue.emplace_back(id, *silent);
  }
  for (const auto& [id, silent] : overdue) {
    end(id, status_of(Cause::kTimeout, silent), port_.rank());
  }
}

std::optional<Seconds> CountExchange::next_deadline() const {
  std::optional<Seconds> next;
  for (const auto& [id, waiting] : waiting_) {
    if (!waiting.started) continue;
    const Seconds deadline = waiting.started_at + options_.timeout;
    if (!next || deadline < *next) next = deadline;
  }
  return next;
}

void CountExchange::describe(std::string& out) const {
  for (const auto& [id, waiting] : waiting_) {
    fmt::format_to(std::back_inserter(out), "operation {}: {}, counts of {} of {} ranks are here\n",
                   id, waiting.started ? "started" : "its stream is not there",
                   rows_.at(id).rows.size(), waiting.members.size());
  }
}

}  // namespace hoccl::engine
