#pragma once

#include <functional>
#include <optional>
#include <string>

#include "hw/bootstrap/launch.h"

namespace hoccl::hw {

/// The value of an environment variable; none if it is unset or empty.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

/// read_launch_environment() of an environment that tests make up. In this order, so that what was
/// started last wins:
///   our own launcher  HOCCL_RANK, HOCCL_SIZE, HOCCL_RENDEZVOUS, HOCCL_LISTENING_SOCKET (rank 0)
///   torchrun          RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT
///   mpirun            OMPI_COMM_WORLD_RANK, _SIZE and _LOCAL_SIZE (Open MPI)
///   srun              SLURM_PROCID and others, within a step
/// HOCCL_RENDEZVOUS (host:port) overrides where the ranks of any of them meet. The secret is in
/// HOCCL_JOB_SECRET or the file named by HOCCL_JOB_SECRET_FILE; a job of one rank needs none.
std::optional<Launch> read_launch(const Environment& environment);

/// The first host of a Slurm node list: "node[01-04,07],x3" gives "node01".
std::string first_host(const std::string& node_list);

}  // namespace hoccl::hw
