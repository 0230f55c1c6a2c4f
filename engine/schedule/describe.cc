#include "engine/schedule/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "engine/schedule/bounds.h"
#include "engine/schedule/describe_plan.h"
#include "engine/schedule/port_loads.h"
#include "engine/schedule/text_table.h"

namespace hoccl::engine {
namespace {

template <class Number>
std::string cell(Number number) {
  return fmt::format("{}", number);
}
std::string cell(Bytes size) { return size == Bytes(0) ? "-" : to_string(size); }

bool any(std::initializer_list<Bytes> sizes) {
  return std::ranges::any_of(sizes, [](Bytes size) { return size > Bytes(0); });
}

std::string rail_table(const PortLoads& loads, const Topology& topology) {
  TextTable table({"rail", "node", "NIC", "next to GPU", "sends", "receives"});
  for (int rail = 0; rail < topology.rail_count(); ++rail) {
    for (int node = 0; node < topology.node_count(); ++node) {
      const NicId nic = topology.nic_on_rail(NodeId(node), rail);
      if (nic.is_none()) continue;
      const Bytes out = loads.nic_out[nic.index()];
      const Bytes in = loads.nic_in[nic.index()];
      if (!any({out, in})) continue;
      table.add(
          {cell(rail), cell(node), cell(nic), cell(topology.nic(nic).gpu), cell(out), cell(in)});
    }
  }
  return table.text();
}

std::string gpu_table(const PortLoads& loads, const Topology& topology) {
  TextTable table({"GPU", "node", "NVLink out", "NVLink in", "NICs out", "NICs in"});
  for (std::size_t gpu = 0; gpu < loads.nvlink_out.size(); ++gpu) {
    Bytes out(0);
    Bytes in(0);
    for (const NicId nic : topology.nics_of(GpuId(gpu))) {
      out += loads.nic_out[nic.index()];
      in += loads.nic_in[nic.index()];
    }
    if (!any({loads.nvlink_out[gpu], loads.nvlink_in[gpu], out, in})) continue;
    table.add({cell(gpu), cell(topology.gpu(GpuId(gpu)).node), cell(loads.nvlink_out[gpu]),
               cell(loads.nvlink_in[gpu]), cell(out), cell(in)});
  }
  return table.text();
}

std::string device_table(const PortLoads& loads) {
  TextTable table({"copy engines of GPU", "peer", "D2H", "H2D", "PCIe out", "PCIe in"});
  for (std::size_t device = 0; device < loads.copied.size(); ++device) {
    const auto& copied = loads.copied[device];
    const Bytes peer = copied[static_cast<std::size_t>(CopyClass::kPeer)];
    const Bytes down = copied[static_cast<std::size_t>(CopyClass::kDeviceToHost)];
    const Bytes up = copied[static_cast<std::size_t>(CopyClass::kHostToDevice)];
    if (!any({peer, down, up, loads.pcie_out[device], loads.pcie_in[device]})) continue;
    table.add({cell(device), cell(peer), cell(down), cell(up), cell(loads.pcie_out[device]),
               cell(loads.pcie_in[device])});
  }
  return table.text();
}

std::string bound_line(std::string_view rates, const Bound& bound, Bytes message_size) {
  if (bound.port.empty()) return fmt::format("bound ({}): nothing to move\n", rates);
  if (bound.time <= Seconds(0.0))
    return fmt::format("bound ({}): none, all ports are unlimited\n", rates);
  return fmt::format("bound ({}): {:.3f} us, {:.2f} GB/s algbw, by {}\n", rates,
                     microseconds(bound.time), gigabytes_per_second(message_size / bound.time),
                     bound.port);
}

}  // namespace

std::string describe(const Plan& plan, const Topology& topology,
                     const std::optional<Rates>& calibrated) {
  const PortLoads loads = loads_of(plan, topology);
  std::string text = describe_head(plan);
  text += describe_transfers(plan);
  text += describe_stages(plan, topology);
  text += rail_table(loads, topology);
  text += gpu_table(loads, topology);
  text += device_table(loads);
  text += '\n';
  text +=
      bound_line("nominal", bound_of(loads, topology, nominal_rates(topology)), plan.message_size);
  if (calibrated) {
    text += bound_line("calibrated", bound_of(loads, topology, *calibrated), plan.message_size);
  }
  return text;
}

}  // namespace hoccl::engine
