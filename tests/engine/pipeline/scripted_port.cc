#include "tests/engine/pipeline/scripted_port.h"

#include <algorithm>

namespace hoccl::engine {

ScriptedPort::ScriptedPort(Rank rank) : rank_(rank), topology_(preset_topology("h800-2x4")) {
  for (int i = 0; i < topology_.place_count(); ++i) {
    StagingPlace place;
    place.place = PlaceId(i);
    place.host = topology_.host_of(place.place);
    place.send_slots = {place.host, 1000 + i};
    place.receive_slots = {place.host, 2000 + i};
    place.send_slot_count = 4;
    place.receive_slot_count = 4;
    place.slot_size = Bytes(1024);
    places_.push_back(place);
  }
}

Ticket ScriptedPort::post_copy(Lane lane, const CopyRequest& request) {
  copies.push_back({lane, request, false});
  return Ticket(++lane_tickets_[lane]);
}

void ScriptedPort::flush() {
  flushes += 1;
  for (PostedCopy& copy : copies) copy.flushed = true;
}

Ticket ScriptedPort::post_write(QueuePairId queue_pair, const WriteRequest& request) {
  writes.push_back(request);
  return Ticket(++write_tickets_[queue_pair]);
}

void ScriptedPort::post_message(Rank target, const Message& message) {
  messages.emplace_back(target, message);
}

QueuePairId ScriptedPort::queue_pair(NicId local, NicId remote, Rank peer, int index) {
  return QueuePairId(((local.value() * 100 + remote.value()) * 100 + peer.value()) * 100 + index);
}

const StagingPlace& ScriptedPort::staging(PlaceId place) const { return places_.at(place.index()); }

void ScriptedPort::export_buffer(BufferHandle buffer) {
  inbox.emplace_back(BufferExported{buffer, true});
}

void ScriptedPort::register_buffer(BufferHandle buffer) {
  inbox.emplace_back(BufferRegistered{buffer, true});
}

void ScriptedPort::import_buffer(BufferHandle buffer) {
  inbox.emplace_back(BufferImported{buffer, true});
}

void ScriptedPort::open_gate(Gate gate, Sequence sequence) { opened.emplace_back(gate, sequence); }

void ScriptedPort::finish(WorkId work, const Status& status) {
  finished.emplace_back(work, status);
}

std::size_t ScriptedPort::poll(std::span<Completion> out) {
  const std::size_t count = std::min(out.size(), inbox.size());
  const auto end = inbox.begin() + static_cast<std::ptrdiff_t>(count);
  std::copy(inbox.begin(), end, out.begin());
  inbox.erase(inbox.begin(), end);
  return count;
}

}  // namespace hoccl::engine
