#pragma once

#include "engine/base/units.h"

namespace hoccl::engine {

/// Settings of one proxy's pipeline. The paper states none of them; these are enough to keep one
/// NIC or NVLink port busy at the default chunk (experiments/fig7 sweeps the chunk).
struct PipelineOptions {
  /// Copy streams (lanes) per engine class. Four keep an engine busy through its set-up times.
  int streams = 4;
  /// Copies ahead of each copy engine: the quantum that sets fairness and the latency of the
  /// priority switch. No more than streams, so that the next copy is chosen by what the ports do
  /// when it can begin.
  int quantum = 4;
  /// Queue pairs per pair of NICs (paper §3.3.1: several keep chunks in flight).
  int queue_pairs = 4;
  /// Writes in flight per queue pair; below the send queue's depth.
  int queue_depth = 4;
  /// Writes in flight per sending NIC, over all its queue pairs. A few keep it busy; more only
  /// share its rate, and each would land later. Background keeps to half of it.
  int nic_depth = 4;
  /// Copies handed to an engine at once: 0 takes what is ready now (see batch_limit.h), 1 is the
  /// paper's reading.
  int batch = 0;
  /// Nobody begins a stage before everybody has sent all of the one before.
  bool barrier = false;
  /// Off: NIC and NVLink phases of a staging place take turns, and transfers inside a node wait for
  /// those between nodes (unless they pass chunks on): what the paper's AllToAll figure suggests
  /// (Fig. 8).
  bool overlap = true;
  /// Off: a source's flows go one after the other instead of in proportion to their sizes.
  bool interleave = true;
  /// Off: transfers inside a node wait for those between nodes instead of filling NVLink's slack.
  bool slack_fill = true;
  /// Transfers inside a node go beside those between nodes.
  [[nodiscard]] bool fills_slack() const { return overlap && slack_fill; }
  /// A target announces itself when its stream has reached the operation. Off: as soon as the
  /// operation is submitted, which can deadlock (kept to show that it does).
  bool admission = true;
  /// Background copies yield to foreground work, but not for ever: when none of an engine could be
  /// posted for this long, one is, and the wait begins anew. A 2 MiB chunk takes 11 us of an engine
  /// at 192 GB/s, so this costs the foreground 0.1 % of its time.
  Seconds background_patience = Seconds(10e-3);
  /// An operation without progress for this long ends with Cause::kTimeout.
  Seconds timeout = Seconds(30.0);
};

}  // namespace hoccl::engine
