#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/units.h"
#include "engine/fabric.h"
#include "engine/schedule/rates.h"
#include "engine/topology/topology.h"

namespace hoccl::sim {

/// Where a constant comes from: set from outside knowledge, or chosen so that a figure matches.
enum class ConstantKind : std::uint8_t { kInput, kFitted };

std::string_view to_string(ConstantKind kind);

/// A constant as tools print it.
struct CalibrationEntry {
  std::string key;    ///< "copy_engine.setup"
  std::string value;  ///< with its unit
  std::string source;
  ConstantKind kind = ConstantKind::kInput;
};

/// Share of a port's nominal rate that payload reaches (headers, flow control).
struct PortConstants {
  double efficiency = 0.0;
};

/// Of the engine of one copy class: NVLink peers, device to host and host to device have one each.
struct CopyEngineConstants {
  engine::Seconds launch_latency;  ///< from the end of the CPU's call to the engine
  engine::Seconds setup;           ///< of a copy alone and of the first one of a batch
  engine::Seconds setup_in_batch;  ///< of each further copy of a batch
  double setup_overlap = 0.0;      ///< share of the set-up that runs beside the lane's last copy
  std::int64_t concurrency = 0;    ///< copies that one engine interleaves
  engine::Seconds completion_latency;  ///< from the last byte until the CPU can see the event
};

struct QueuePairConstants {
  engine::Seconds message_overhead;    ///< of one write, in which its queue pair sends nothing
  engine::Seconds wire_latency;        ///< from the last byte sent until the target can see it
  engine::Seconds completion_latency;  ///< from the arrival until the sender can see it
  engine::Seconds error_latency;       ///< from the start of a lost write until the error
};

struct MessageConstants {
  engine::Seconds local_latency;   ///< through shared memory of a node
  engine::Seconds remote_latency;  ///< as a small RDMA write
};

struct GateConstants {
  engine::Seconds ready_latency;   ///< from the stream's write until the CPU sees it
  engine::Seconds resume_latency;  ///< from the CPU's store until the stream goes on
};

struct RegistrationConstants {
  engine::Seconds latency;       ///< from the call until NICs may touch a user buffer
  engine::Seconds busy_latency;  ///< the same where the driver is busy: shortest
  engine::Seconds busy_spread;   ///< and how much longer it takes at most
};

/// CPU time of handing copies of one class to their engine, without the event behind them.
struct CopyPostConstants {
  engine::Seconds alone;
  engine::Seconds batch;     ///< a batch, whatever its length
  engine::Seconds in_batch;  ///< plus this for each of its copies
};

/// CPU time of one call, on the rank's proxy core or (application side) on the caller's.
struct CpuConstants {
  CopyPostConstants post_peer;  ///< keys post_copy, post_batch, post_copy_in_batch
  CopyPostConstants post_d2h;   ///< the same with _d2h
  CopyPostConstants post_h2d;
  engine::Seconds post_event;  ///< the event behind a copy or batch
  /// How long a call of the GPU driver keeps other threads of its process out of it.
  engine::Seconds driver_lock;
  engine::Seconds post_write;
  engine::Seconds post_prebuilt_write;  ///< instead, where work requests are built ahead
  engine::Seconds post_local_message;
  engine::Seconds post_remote_message;
  engine::Seconds poll_empty;    ///< one look at everything but copies
  engine::Seconds query_copies;  ///< plus this per lane whose next event is not there yet
  engine::Seconds poll_copies;   ///< per completed event
  engine::Seconds poll_write;    ///< per completion queue entry, sender or receiver
  engine::Seconds poll_message;  ///< per message or mailbox entry
  engine::Seconds plan_flow;     ///< per flow of a plan
  engine::Seconds plan_count;    ///< per entry of an AllToAllv's matrix
  engine::Seconds bookkeeping;
  engine::Seconds open_gate;
  engine::Seconds finish;
  engine::Seconds export_buffer;
  engine::Seconds import_buffer;
  engine::Seconds submit;         ///< application side
  engine::Seconds enqueue_ready;  ///< application side
  engine::Seconds enqueue_wait;   ///< application side
};

/// NCCL's kernels and proxy, for the rival model.
struct NcclConstants {
  engine::BytesPerSecond channel_copy_rate;  ///< one SM's copy loop, to NVLink or own memory
  engine::BytesPerSecond channel_net_rate;   ///< what NCCL plans per channel between nodes
  engine::Seconds kernel_launch;             ///< CPU time of the caller
  engine::Seconds kernel_start;              ///< from the stream's arrival to the first slice
  engine::Seconds step_overhead;             ///< of one slice: flag, fence, flag
  engine::Seconds flag_latency;              ///< between a GPU's and a CPU's polling loop
  engine::Bytes nvlink_step;
  engine::Bytes net_step;
  engine::Bytes part_min;  ///< no channel is used for less
  std::int64_t fifo_slots = 0;
  engine::Seconds proxy_step;  ///< CPU time of the proxy per network step and side
};

/// NCCL's copy-engine collectives, for the rival model.
struct NcclZeroConstants {
  engine::Seconds barrier;    ///< of the ranks of a node, without the flags
  engine::Seconds flag_copy;  ///< a copy of 4 bytes to each peer
  engine::Bytes chunk;        ///< largest put between nodes
};

/// VCCL, for the rival model.
struct VcclConstants {
  engine::Seconds host_function_start;  ///< from the stream's arrival until the proxy knows
  engine::Seconds host_function_end;    ///< from the proxy's flag until the stream goes on
  engine::Bytes piece;                  ///< of a message that a NIC reads at once
  // Of buffers that are not registered: copies within the GPU into slots that are.
  engine::Bytes staging_slot;
  std::int64_t staging_slots = 0;
  std::int64_t staging_channels = 0;
  engine::Seconds staging_start;  ///< of a copy, until its bytes move
  engine::BytesPerSecond staging_copy_rate;
};

/// The GPU as compute kernels use it, for the training model.
struct GpuConstants {
  std::int64_t sms = 0;
  double peak_tflops = 0.0;  ///< dense bf16, 1e12 operations per second
  engine::BytesPerSecond memory_rate;
};

/// What communication costs compute kernels that run beside it; see SmContention.
struct ContentionConstants {
  double forward = 0.0;   ///< longer by this per share of the SMs that is held
  double backward = 0.0;  ///< the same
  double memory = 0.0;    ///< longer by this part of the time that the memory takes for the traffic
};

/// The training program's launching thread.
struct LaunchConstants {
  engine::Seconds kernel;        ///< CPU time of one launch, the framework's part included
  std::int64_t per_product = 0;  ///< launches for a matrix product and the small kernels around it
  std::int64_t queue = 0;        ///< launches that may be ahead of the GPU
};

/// Every constant of the model, each with its source. Plain data, read from a TOML file.
struct Calibration {
  std::string machine;
  PortConstants nvlink;
  PortConstants nic;
  PortConstants pcie;
  CopyEngineConstants copy_engine;  ///< for copies to peers
  CopyEngineConstants copy_engine_d2h;
  CopyEngineConstants copy_engine_h2d;
  QueuePairConstants queue_pair;
  MessageConstants message;
  GateConstants gate;
  RegistrationConstants registration;
  CpuConstants cpu;
  NcclConstants nccl;
  NcclZeroConstants nccl_zero;
  VcclConstants vccl;
  GpuConstants gpu;
  ContentionConstants contention;
  LaunchConstants launch;

  /// Where a value comes from.
  struct Origin {
    std::string source;
    ConstantKind kind = ConstantKind::kInput;
  };

  /// Replaces one constant ("copy_engine.setup", "2us"). ConfigError for an unknown key (naming
  /// close ones) or a value that does not fit.
  void set(std::string_view key, std::string_view text, Origin origin);
  /// The same as `--set` does it, which is then the origin.
  void set(std::string_view key, std::string_view text) { set(key, text, {.source = "--set"}); }
  /// `set` of "key=value".
  void set(std::string_view assignment);

  [[nodiscard]] const CopyEngineConstants& copy_engine_of(engine::CopyClass copy_class) const;
  [[nodiscard]] const CopyPostConstants& copy_post_of(engine::CopyClass copy_class) const;

  /// All constants in a fixed order.
  [[nodiscard]] std::vector<CalibrationEntry> entries() const;

  /// What the model's ports carry at most: the calibrated bound is computed with it.
  [[nodiscard]] engine::Rates rates(const engine::Topology& topology) const;

  /// Of all keys and values, to tell results of different calibrations apart.
  [[nodiscard]] std::uint64_t hash() const;

  /// By position in `entries()`; written by the reader and by `set`.
  std::vector<Origin> origins;
};

/// Reads a file. Every constant must be there with value, source and kind, and nothing else;
/// ConfigError of one line otherwise.
Calibration load_calibration(const std::filesystem::path& file);
/// The same from text; `name` stands for the file in messages.
Calibration parse_calibration(std::string_view text, const std::string& name);
/// A calibration that comes with the program ("h800"), or a file when the text ends in ".toml".
Calibration resolve_calibration(const std::string& name_or_file);
/// Names of the calibrations that come with the program.
std::vector<std::string> calibration_names();
/// The one whose name the topology's begins with, else "h800".
Calibration calibration_for(const engine::Topology& topology);

}  // namespace hoccl::sim
