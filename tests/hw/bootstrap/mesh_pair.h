#pragma once

#include <array>
#include <memory>
#include <vector>

#include "hw/node/local_mesh.h"
#include "tests/hw/bootstrap/thread_job.h"

namespace hoccl::hw::test {

/// Two connected meshes that a test starts when it likes: until then nobody receives.
struct MeshPair {
  MeshPair() {
    run_ranks(2, [&](int rank) {
      const auto index = static_cast<std::size_t>(rank);
      meshes[index] = std::make_unique<LocalMesh>(*bootstraps[index]);
    });
  }

  std::vector<std::unique_ptr<Bootstrap>> bootstraps = connect_all(2);
  std::array<std::unique_ptr<LocalMesh>, 2> meshes;
};

}  // namespace hoccl::hw::test
