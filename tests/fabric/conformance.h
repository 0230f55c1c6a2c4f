#pragma once

// The contract of engine/fabric.h, written once. A fabric instantiates the suites with a factory:
//   INSTANTIATE_TEST_SUITE_P(Ideal, PortConformance, testing::Values(...), factory_name);

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "engine/pipeline/options.h"
#include "engine/schedule/compile.h"
#include "tests/fabric/fabric_under_test.h"
#include "tests/fabric/job_under_test.h"

namespace hoccl::engine {

struct FabricFactory {
  std::string name;
  /// Of a job on two nodes; at least two.
  int ranks = 8;
  /// NICs can write from user buffer to user buffer.
  bool moves_user_buffers = true;
  std::function<std::unique_ptr<FabricUnderTest>(const FabricSettings&)> make;
  std::function<std::unique_ptr<JobUnderTest>(const FabricSettings&, const PipelineOptions&,
                                              const CompileOptions&)>
      make_job;

  /// The factory's ranks spread over two nodes of four GPUs.
  [[nodiscard]] FabricSettings between_nodes() const;
  /// As many ranks, at least two of them on node 0.
  [[nodiscard]] FabricSettings within_a_node() const;
};

/// A fabric whose ranks share this process.
FabricFactory local_factory(
    const std::string& name,
    const std::function<std::unique_ptr<FabricUnderTest>(const FabricSettings&)>& make);

inline void PrintTo(const FabricFactory& factory, std::ostream* out) { *out << factory.name; }

inline std::string factory_name(const testing::TestParamInfo<FabricFactory>& info) {
  return info.param.name;
}

/// Tests that post and poll themselves.
class PortConformance : public testing::TestWithParam<FabricFactory> {
 protected:
  /// Called first by every test that does not want two nodes.
  void make(const FabricSettings& settings) { fabric_ = GetParam().make(settings); }
  FabricUnderTest& fabric();
  [[nodiscard]] const Topology& topology() { return fabric().topology(); }
  Port& port(int rank) { return fabric().fabric().port(Rank(rank)); }
  void run() { fabric().run({}); }

  /// Polls until nothing is left.
  std::vector<Completion> drain(int rank);
  template <class Kind>
  static std::vector<Kind> only(const std::vector<Completion>& completions) {
    std::vector<Kind> found;
    for (const Completion& completion : completions) {
      if (const Kind* kind = std::get_if<Kind>(&completion)) found.push_back(*kind);
    }
    return found;
  }
  /// Runs, then returns what `rank` was told of this kind.
  template <class Kind>
  std::vector<Kind> told(int rank) {
    run();
    return only<Kind>(drain(rank));
  }

  // The second NIC of each node, their places, who hosts those, and a rank of the same node whose
  // GPU is not the place's.
  [[nodiscard]] NicId send_nic();
  [[nodiscard]] NicId receive_nic();
  [[nodiscard]] PlaceId send_place() { return topology().place_of(send_nic()); }
  [[nodiscard]] PlaceId receive_place() { return topology().place_of(receive_nic()); }
  [[nodiscard]] int sender() { return topology().host_of(send_place()).value(); }
  [[nodiscard]] int receiver() { return topology().host_of(receive_place()).value(); }
  [[nodiscard]] int source() { return topology().ranks_of(NodeId(0)).front().value(); }
  [[nodiscard]] int target() { return topology().ranks_of(NodeId(1)).front().value(); }
  [[nodiscard]] int last() { return topology().rank_count() - 1; }

  [[nodiscard]] Region slot(PlaceId place, bool send, int index, Bytes size);
  /// Puts a message into a send slot of send_place(), as the sources of a flow do, and waits for
  /// it.
  void stage(int index, Bytes size, std::uint64_t message);
  /// Pulls a receive slot of receive_place() into a buffer of target() and returns whether it held
  /// the message.
  bool pull(int index, Bytes size, std::uint64_t message);

 private:
  std::unique_ptr<FabricUnderTest> fabric_;
};

/// Tests that run real proxies over the fabric.
class ProxyConformance : public testing::TestWithParam<FabricFactory> {};

}  // namespace hoccl::engine
