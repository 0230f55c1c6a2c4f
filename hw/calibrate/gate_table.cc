#include "hw/calibrate/gate_table.h"

#include <algorithm>

#include "hw/calibrate/what_is_measured.h"

namespace hoccl::hw {

using engine::Bytes;
using engine::Seconds;

namespace {

/// What `samples` holds of one row.
struct Row {
  const Samples& samples;
  const char* mechanism;
  int connections;

  [[nodiscard]] const Samples::Series* find(const char* measurement) const {
    return samples.find({measurement, mechanism, Bytes(0), 0, connections});
  }
  [[nodiscard]] std::optional<Summary> summary(const char* measurement) const {
    const Samples::Series* series = find(measurement);
    if (series == nullptr) return std::nullopt;
    return summarise(*series);
  }
  /// Of the differences to the same work without a gate, each pair measured one after the other.
  [[nodiscard]] std::optional<Summary> bubble(const char* measurement) const {
    const Samples::Series* alone = find(kWorkAlone);
    const Samples::Series* gated = find(measurement);
    if (alone == nullptr || gated == nullptr) return std::nullopt;
    std::vector<Seconds> differences(std::min(alone->size(), gated->size()));
    for (std::size_t i = 0; i < differences.size(); ++i) differences[i] = (*gated)[i] - (*alone)[i];
    return summarise(differences);
  }
};

}  // namespace

std::vector<GateRow> gate_table(const Samples& samples) {
  std::vector<GateRow> rows;
  for (const char* mechanism : {kMemoryOperations, kHostFunctions}) {
    for (const int connections : kConnections) {
      const Row row{samples, mechanism, connections};
      if (row.find(kReadySeen) == nullptr && row.find(kWorkAlone) == nullptr) continue;
      rows.push_back({.mechanism = mechanism,
                      .connections = connections,
                      .ready_latency = row.summary(kReadySeen),
                      .resume_latency = row.summary(kResumeSeen),
                      .ready_call = row.summary(kReadyCall),
                      .wait_call = row.summary(kWaitOpenCall),
                      .same_stream_bubble = row.bubble(kWorkSameStream),
                      .other_stream_bubble = row.bubble(kWorkOtherStream)});
    }
  }
  return rows;
}

}  // namespace hoccl::hw
