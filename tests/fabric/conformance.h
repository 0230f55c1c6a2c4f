#pragma once

// The contract of engine/fabric.h, written once. A fabric instantiates the suites with a factory:
//   INSTANTIATE_TEST_SUITE_P(Ideal, PortConformance, testing::Values(...), factory_name);

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "engine/fabric.h"
#include "engine/pipeline/proxy.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

struct FabricSettings {
  std::string topology = "h800-2x4";
  int ranks = 8;
  Bytes slot_size = Bytes(4096);
  int send_slots = 4;
  int receive_slots = 4;
};

/// One fabric with what a test needs beyond the seam.
class FabricUnderTest {
 public:
  virtual ~FabricUnderTest() = default;

  virtual Fabric& fabric() = 0;
  [[nodiscard]] virtual const Topology& topology() const = 0;
  /// A user buffer in the memory of the rank's GPU.
  virtual BufferHandle allocate(Rank owner, Bytes size) = 0;
  /// Fills a region with a pattern that tells `message` and position. Nothing without memory.
  virtual void fill(const Region& region, std::uint64_t message) = 0;
  /// Whether the region holds that pattern from its first byte on; true without memory.
  [[nodiscard]] virtual bool holds(const Region& region, std::uint64_t message) = 0;
  /// Lets everything happen that is under way, stepping the proxies (by rank) for it.
  virtual void run(std::span<Proxy* const> proxies) = 0;
};

struct FabricFactory {
  std::string name;
  std::function<std::unique_ptr<FabricUnderTest>(const FabricSettings&)> make;
};

inline void PrintTo(const FabricFactory& factory, std::ostream* out) { *out << factory.name; }

inline std::string factory_name(const testing::TestParamInfo<FabricFactory>& info) {
  return info.param.name;
}

/// Tests that post and poll themselves.
class PortConformance : public testing::TestWithParam<FabricFactory> {
 protected:
  void SetUp() override { make({}); }

  void make(const FabricSettings& settings) { fabric_ = GetParam().make(settings); }
  [[nodiscard]] const Topology& topology() const { return fabric_->topology(); }
  Port& port(int rank) { return fabric_->fabric().port(Rank(rank)); }
  void run() { fabric_->run({}); }

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

  // The first NIC of each node, their places and who hosts those.
  [[nodiscard]] NicId send_nic() const;
  [[nodiscard]] NicId receive_nic() const;
  [[nodiscard]] PlaceId send_place() const;
  [[nodiscard]] PlaceId receive_place() const;
  [[nodiscard]] int sender() const;
  [[nodiscard]] int receiver() const;

  [[nodiscard]] Region slot(PlaceId place, bool send, int index, Bytes size);
  /// Puts a message into a send slot, as the sources of a flow do, and waits for it.
  void stage(int source, PlaceId place, int index, Bytes size, std::uint64_t message);
  /// Pulls a receive slot into a buffer of `target` and returns whether it held the message.
  bool pull(int target, PlaceId place, int index, Bytes size, std::uint64_t message);

  std::unique_ptr<FabricUnderTest> fabric_;
};

/// Tests that run real proxies over the fabric.
class ProxyConformance : public testing::TestWithParam<FabricFactory> {};

}  // namespace hoccl::engine
