#pragma once

#include <string_view>

#include "sim/calibration/calibration.h"

namespace hoccl::sim {

template <class Constants, class Visitor>
void visit_copy_engine(std::string_view group, Constants& engine, Visitor& visit) {
  visit(group, "launch_latency", engine.launch_latency);
  visit(group, "setup", engine.setup);
  visit(group, "setup_in_batch", engine.setup_in_batch);
  visit(group, "setup_overlap", engine.setup_overlap, 0.0, 1.0);
  visit(group, "concurrency", engine.concurrency, 1, 64);
  visit(group, "completion_latency", engine.completion_latency);
}

template <class CalibrationType, class Visitor>
void visit_rivals(CalibrationType& c, Visitor&& visit) {
  visit("nccl", "channel_copy_rate", c.nccl.channel_copy_rate);
  visit("nccl", "channel_net_rate", c.nccl.channel_net_rate);
  visit("nccl", "kernel_launch", c.nccl.kernel_launch);
  visit("nccl", "kernel_start", c.nccl.kernel_start);
  visit("nccl", "step_overhead", c.nccl.step_overhead);
  visit("nccl", "flag_latency", c.nccl.flag_latency);
  visit("nccl", "nvlink_step", c.nccl.nvlink_step);
  visit("nccl", "net_step", c.nccl.net_step);
  visit("nccl", "part_min", c.nccl.part_min);
  visit("nccl", "fifo_slots", c.nccl.fifo_slots, 1, 1024);
  visit("nccl", "proxy_step", c.nccl.proxy_step);

  visit("nccl_zero", "barrier", c.nccl_zero.barrier);
  visit("nccl_zero", "flag_copy", c.nccl_zero.flag_copy);
  visit("nccl_zero", "chunk", c.nccl_zero.chunk);

  visit("vccl", "host_function_start", c.vccl.host_function_start);
  visit("vccl", "host_function_end", c.vccl.host_function_end);
  visit("vccl", "piece", c.vccl.piece);
  visit("vccl", "staging_slot", c.vccl.staging_slot);
  visit("vccl", "staging_slots", c.vccl.staging_slots, 1, 1024);
  visit("vccl", "staging_channels", c.vccl.staging_channels, 1, 64);
  visit("vccl", "staging_start", c.vccl.staging_start);
  visit("vccl", "staging_copy_rate", c.vccl.staging_copy_rate);
}

template <class CalibrationType, class Visitor>
void visit_training(CalibrationType& c, Visitor&& visit) {
  visit("gpu", "sms", c.gpu.sms, 1, 1024);
  visit("gpu", "peak_tflops", c.gpu.peak_tflops, 1.0, 1e6);
  visit("gpu", "memory_rate", c.gpu.memory_rate);

  visit("contention", "forward", c.contention.forward, 0.0, 100.0);
  visit("contention", "backward", c.contention.backward, 0.0, 100.0);
  visit("contention", "memory", c.contention.memory, 0.0, 100.0);

  visit("launch", "kernel", c.launch.kernel);
  visit("launch", "per_product", c.launch.per_product, 1, 10000);
  visit("launch", "queue", c.launch.queue, 1, 1000000);
}

/// Calls `visit(group, name, value)` for every quantity and `visit(group, name, value, low, high)`
/// for every plain number, in the order of the files: the one list that reader, printer, `set`
/// and hash share. CalibrationType is Calibration or const Calibration.
template <class CalibrationType, class Visitor>
void visit_constants(CalibrationType& c, Visitor&& visit) {
  // A port of efficiency 0 would never finish; below 1% is a slip of the pen.
  visit("nvlink", "efficiency", c.nvlink.efficiency, 0.01, 1.0);
  visit("nic", "efficiency", c.nic.efficiency, 0.01, 1.0);
  visit("pcie", "efficiency", c.pcie.efficiency, 0.01, 1.0);

  visit_copy_engine("copy_engine", c.copy_engine, visit);
  visit_copy_engine("copy_engine_d2h", c.copy_engine_d2h, visit);
  visit_copy_engine("copy_engine_h2d", c.copy_engine_h2d, visit);

  visit("queue_pair", "message_overhead", c.queue_pair.message_overhead);
  visit("queue_pair", "wire_latency", c.queue_pair.wire_latency);
  visit("queue_pair", "completion_latency", c.queue_pair.completion_latency);
  visit("queue_pair", "error_latency", c.queue_pair.error_latency);

  visit("message", "local_latency", c.message.local_latency);
  visit("message", "remote_latency", c.message.remote_latency);

  visit("gate", "ready_latency", c.gate.ready_latency);
  visit("gate", "resume_latency", c.gate.resume_latency);

  visit("registration", "latency", c.registration.latency);
  visit("registration", "busy_latency", c.registration.busy_latency);
  visit("registration", "busy_spread", c.registration.busy_spread);

  visit("cpu", "post_copy", c.cpu.post_peer.alone);
  visit("cpu", "post_batch", c.cpu.post_peer.batch);
  visit("cpu", "post_copy_in_batch", c.cpu.post_peer.in_batch);
  visit("cpu", "post_copy_d2h", c.cpu.post_d2h.alone);
  visit("cpu", "post_batch_d2h", c.cpu.post_d2h.batch);
  visit("cpu", "post_copy_in_batch_d2h", c.cpu.post_d2h.in_batch);
  visit("cpu", "post_copy_h2d", c.cpu.post_h2d.alone);
  visit("cpu", "post_batch_h2d", c.cpu.post_h2d.batch);
  visit("cpu", "post_copy_in_batch_h2d", c.cpu.post_h2d.in_batch);
  visit("cpu", "post_event", c.cpu.post_event);
  visit("cpu", "driver_lock", c.cpu.driver_lock);
  visit("cpu", "post_write", c.cpu.post_write);
  visit("cpu", "post_prebuilt_write", c.cpu.post_prebuilt_write);
  visit("cpu", "post_local_message", c.cpu.post_local_message);
  visit("cpu", "post_remote_message", c.cpu.post_remote_message);
  visit("cpu", "poll_empty", c.cpu.poll_empty);
  visit("cpu", "query_copies", c.cpu.query_copies);
  visit("cpu", "poll_copies", c.cpu.poll_copies);
  visit("cpu", "poll_write", c.cpu.poll_write);
  visit("cpu", "poll_message", c.cpu.poll_message);
  visit("cpu", "plan_flow", c.cpu.plan_flow);
  visit("cpu", "plan_count", c.cpu.plan_count);
  visit("cpu", "bookkeeping", c.cpu.bookkeeping);
  visit("cpu", "open_gate", c.cpu.open_gate);
  visit("cpu", "finish", c.cpu.finish);
  visit("cpu", "export_buffer", c.cpu.export_buffer);
  visit("cpu", "import_buffer", c.cpu.import_buffer);
  visit("cpu", "submit", c.cpu.submit);
  visit("cpu", "enqueue_ready", c.cpu.enqueue_ready);
  visit("cpu", "enqueue_wait", c.cpu.enqueue_wait);

  visit_rivals(c, visit);
  visit_training(c, visit);
}

}  // namespace hoccl::sim
