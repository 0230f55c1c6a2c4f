#include "hw/calibrate/cuda_calibration.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <memory>
#include <optional>

#include "hw/calibrate/calibration_failed.h"
#include "hw/calibrate/call_bench.h"
#include "hw/calibrate/connections.h"
#include "hw/calibrate/copy_bench.h"
#include "hw/calibrate/copy_path_raii.h"
#include "hw/calibrate/gate_bench.h"
#include "hw/calibrate/gate_process.h"
#include "hw/calibrate/latency_bench.h"
#include "hw/calibrate/lock_bench.h"
#include "hw/calibrate/proxy_bench.h"
#include "hw/calibrate/spin.h"
#include "hw/calibrate/what_is_measured.h"
#include "hw/cuda/cuda_devices.h"
#include "hw/cuda/cuda_error.h"

namespace hoccl::hw {

using engine::CopyClass;
using engine::Seconds;

namespace {

/// Clocks of GPU, memory and PCIe have risen by then.
constexpr Seconds kWarmUp{0.3};

MeasuredMachine describe(int device) {
  const CudaVersions versions = cuda_versions();
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return {.device = cuda_gpus().at(static_cast<std::size_t>(device)).name,
          .driver = versions.driver.empty() ? "unknown" : versions.driver,
          .toolkit = versions.runtime,
          .date = fmt::format("{:%Y-%m-%d}", fmt::gmtime(now))};
}

/// The first GPU that `device` can copy to over their link.
std::optional<int> find_peer(int device) {
  for (const CudaGpu& gpu : cuda_gpus()) {
    if (gpu.ordinal == device) continue;
    int possible = 0;
    require_cuda(cudaDeviceCanAccessPeer(&possible, device, gpu.ordinal), "ask for peer access");
    if (possible != 0) return gpu.ordinal;
  }
  return std::nullopt;
}

/// Runs the parts one by one; a part that fails takes no other with it.
class Calibrator {
 public:
  Calibrator(int device, const std::vector<std::string>& gate_words, const Progress& progress)
      : device_(device), gate_words_(gate_words), progress_(progress) {}

  MachineSamples measure() {
    result_.samples.machine = describe(device_);
    const int own_connections = max_connections();
    if (own_connections != 0) {
      result_.samples.note(
          fmt::format("{}={} for all but the gates", kConnectionsVariable, own_connections));
    }
    // Before this process has anything on the GPU.
    for (const int connections : kConnections) {
      part(fmt::format("gates, {} connection{}", connections, connections == 1 ? "" : "s"),
           [&] { result_.samples.merge(gates_of_another_process(gate_words_, connections)); });
    }
    measure_classes();
    part("proxies", [&] { measure_proxies(CopyKind::kCuda, device_, result_.samples); });
    return std::move(result_);
  }

 private:
  template <class Measure>
  void part(const std::string& name, Measure measure) {
    const Seconds begin = monotonic_now();
    std::string failure;
    try {
      measure();
    } catch (const CudaError& error) {
      failure = error.what();
      cudaGetLastError();  // the next part would find it
    } catch (const CalibrationFailed& error) {
      failure = error.what();
    }
    if (!failure.empty()) result_.failures.push_back(fmt::format("{}: {}", name, failure));
    progress_(fmt::format("{}: {:.1f} s{}{}", name, (monotonic_now() - begin).count(),
                          failure.empty() ? "" : ", failed: ", failure));
  }

  void measure_classes() {
    std::unique_ptr<CopyPath> to_host;
    std::unique_ptr<CopyPath> from_host;
    part("buffers", [&] {
      use_cuda_device(device_);
      to_host = std::make_unique<CopyPath>(CopyClass::kDeviceToHost, device_, -1);
      from_host = std::make_unique<CopyPath>(CopyClass::kHostToDevice, device_, -1);
      warm_up(*to_host);
    });
    if (from_host == nullptr) return;
    part("calls", [&] { measure_stream_calls(result_.samples); });
    part("calls in turn", [&] { measure_lock(device_, result_.samples); });
    measure_class(*to_host);
    measure_class(*from_host);
    part("d2h and h2d at once", [&] { measure_both_ways(*to_host, *from_host, result_.samples); });
    std::optional<int> peer;
    part("peers", [&] { peer = find_peer(device_); });
    if (!peer) {
      result_.samples.note("peer copies: not measured, there is no second GPU within reach");
      return;
    }
    std::unique_ptr<CopyPath> to_peer;
    part("buffers of a peer",
         [&] { to_peer = std::make_unique<CopyPath>(CopyClass::kPeer, device_, *peer); });
    if (to_peer != nullptr) measure_class(*to_peer);
  }

  static void warm_up(CopyPath& path) {
    const CudaStream stream;
    const CudaEvent event;
    const Seconds end = monotonic_now() + kWarmUp;
    while (monotonic_now() < end) {
      path.keep_busy(stream);
      record(event, stream);
      wait_for(event);
    }
  }

  void measure_class(CopyPath& path) {
    Samples& samples = result_.samples;
    const auto name = [&](const char* what) { return fmt::format("{}, {}", path.name(), what); };
    part(name("latencies"), [&] { measure_latencies(path, samples); });
    part(name("calls"), [&] { measure_copy_calls(path, samples); });
    part(name("copies"), [&] { measure_copies(path, samples); });
    part(name("batches"), [&] { measure_batches(path, samples); });
    part(name("streams"), [&] { measure_streams(path, samples); });
    part(name("signals"), [&] { measure_signals(path, samples); });
  }

  int device_;
  const std::vector<std::string>& gate_words_;
  const Progress& progress_;
  MachineSamples result_;
};

}  // namespace

MachineSamples measure_with_cuda(int device, const std::vector<std::string>& gate_words,
                                 const Progress& progress) {
  return Calibrator(device, gate_words, progress).measure();
}

Samples measure_gates_with_cuda(int device) {
  use_cuda_device(device);
  Samples samples;
  measure_gates(samples);
  return samples;
}

}  // namespace hoccl::hw
