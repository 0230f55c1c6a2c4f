#pragma once

#include <fmt/format.h>

#include <array>
#include <string>

#include "engine/base/units.h"
#include "engine/fabric.h"

namespace hoccl::hw {

// The measurements by name, as the raw samples call them. The subject is a copy class where nothing
// else is said. "Engine" times are taken by the GPU, all others by the CPU.

// --- what an engine needs; the copies wait in the stream until it comes to them ---
/// Per copy, handed over one by one, back to back in one stream.
inline constexpr const char* kEngineTime = "engine_time";
/// The same, with something behind each copy: subjects "d2h+event", "d2h+write", "d2h+nothing".
inline constexpr const char* kSignalEngineTime = "signal_engine_time";
/// Per batch of `count`, back to back in one stream.
inline constexpr const char* kBatchTime = "batch_engine_time";
/// Per copy, handed over one by one to `count` streams in turn.
inline constexpr const char* kStreamsTime = "streams_engine_time";
/// Of `count` copies in as many streams, until the n-th of them has ended: subject "d2h", count n.
inline constexpr const char* kStreamEnd = "stream_end";
/// Per copy, while the other direction copies, too.
inline constexpr const char* kDuplexTime = "duplex_engine_time";

// --- from the call of a copy on an idle engine until the CPU sees that it is done ---
/// By querying an event behind it.
inline constexpr const char* kDoneSeen = "done_seen";
/// In its last word in host memory (d2h only).
inline constexpr const char* kDataSeen = "data_seen";
/// By a word that the stream writes behind it.
inline constexpr const char* kWriteSeen = "write_seen";

// --- CPU time of one call; subject: a copy class, or a word ---
inline constexpr const char* kCopyCall = "call_copy";           ///< on a busy stream
inline constexpr const char* kCopyCallIdle = "call_copy_idle";  ///< on an idle one
inline constexpr const char* kBatchCall = "call_batch";         ///< `count` copies, busy stream
inline constexpr const char* kEventCall = "call_event";         ///< behind a copy, busy stream
inline constexpr const char* kEventCallIdle = "call_event_idle";
inline constexpr const char* kQueryPending = "call_query_pending";
inline constexpr const char* kQueryDone = "call_query_done";  ///< the first that says so
inline constexpr const char* kQueryDoneAgain = "call_query_done_again";
inline constexpr const char* kWriteCall = "call_write_value";  ///< behind a copy
inline constexpr const char* kWaitCall = "call_wait_value";    ///< satisfied already
inline constexpr const char* kHostFunctionCall = "call_host_function";
inline constexpr const char* kWaitEventCall = "call_wait_event";
/// A call per thread, of `count` threads of one process that make nothing but calls, over their
/// number: a turn of theirs. Subject: what is called.
inline constexpr const char* kLockTime = "call_turn";
inline constexpr const char* kLockCopy = "copy";
inline constexpr const char* kLockWord = "word";
inline constexpr const char* kLockEvent = "event";
inline constexpr const char* kLockQuery = "query";
/// What proxies call; words, which only callers write, are measured beside them.
inline constexpr std::array kLockKinds = {kLockCopy, kLockEvent, kLockQuery};
inline constexpr int kLockThreads = 8;
inline constexpr const char* kClockCall = "call_clock";  ///< already taken off all others

// --- a proxy's own work, without the GPU's driver: cost of one piece of it, fitted to the steps of
// proxies that run patterns with GPU copies. Subject: the constant's name; "notice" is open_gate
// and finish ---
inline constexpr const char* kProxyWork = "proxy_work";
inline constexpr const char* kIdleStep = "poll_empty";  ///< a step that finds nothing
/// In the order of ProxyWork.
inline constexpr std::array kWorkNames = {"post_local_message", "poll_message", "bookkeeping",
                                          "plan_flow", "notice"};
/// Behind the names of constants that each copy class has of its own.
inline std::string constant_suffix(engine::CopyClass copy_class) {
  if (copy_class == engine::CopyClass::kPeer) return "";
  return fmt::format("_{}", to_string(copy_class));
}
/// A call of the driver by such a proxy, mean of a run. Subject: the constant's name.
inline constexpr const char* kCallInUse = "call_in_use";
/// The caller's CPU time to enqueue one operation, its marks on the stream included.
inline constexpr const char* kLaunchCall = "call_launch";

// --- gates; subject: how the ready mark is made; connections as set ---
inline constexpr const char* kReadySeen = "gate_ready_latency";    ///< end of the call to the CPU
inline constexpr const char* kResumeSeen = "gate_resume_latency";  ///< store to the next write seen
inline constexpr const char* kReadyCall = "gate_ready_call";
inline constexpr const char* kWaitOpenCall = "gate_wait_call";  ///< the gate is closed
/// A row of memsets: alone, with a gate between them that is opened at once, and with a gate on
/// another stream that stays closed for 2 ms. By the GPU's clock.
inline constexpr const char* kWorkAlone = "gate_work_alone";
inline constexpr const char* kWorkSameStream = "gate_work_same_stream";
inline constexpr const char* kWorkOtherStream = "gate_work_other_stream";
inline constexpr const char* kMemoryOperations = "memory-operations";
inline constexpr const char* kHostFunctions = "host-functions";
inline constexpr std::array kConnections = {1, 8};
inline constexpr int kModelConnections = 8;  ///< CUDA's default

using namespace engine::literals;

/// Below it the driver may copy with SMs (seen: H2D of 4 KiB), which says nothing about an engine.
inline constexpr engine::Bytes kSmallestFitted = 64_KiB;
inline constexpr std::array kEngineSizes = {4_KiB, 16_KiB, 64_KiB, 128_KiB, 256_KiB, 512_KiB, 1_MiB,
                                            2_MiB, 4_MiB,  8_MiB,  16_MiB,  32_MiB,  64_MiB};
inline constexpr std::array kBatchCounts = {2, 4, 8, 16, 64};
inline constexpr std::array kBatchSizes = {64_KiB, 256_KiB, 512_KiB, 2_MiB};
inline constexpr std::array kLatencySizes = {4_KiB, 16_KiB, 64_KiB, 256_KiB, 1_MiB};
inline constexpr std::array kDuplexSizes = {1_MiB, 2_MiB, 16_MiB};
inline constexpr engine::Bytes kDuplexSize = 16_MiB;
inline constexpr std::array kStreamsSizes = {64_KiB, 512_KiB, 2_MiB};
inline constexpr engine::Bytes kStreamEndSize = 8_MiB;
inline constexpr int kStreamEndCount = 8;
inline constexpr engine::Bytes kSignalSize = 64_KiB;
inline constexpr std::array kSignalSizes = {kSignalSize, 512_KiB};
inline constexpr engine::Bytes kCallSize = 256_KiB;

}  // namespace hoccl::hw
