#pragma once

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hw/bootstrap/bootstrap.h"
#include "hw/system/file_descriptor.h"

namespace hoccl::hw {

/// The way to another rank of this host.
struct MeshLink {
  FileDescriptor socket;
  /// A pidfd of the process that made the peer's end. None for a peer in this very process, and
  /// where the kernel gives none.
  FileDescriptor process;
};

/// Collective over all ranks of the job: connects every two of `members`, who are this rank and
/// others, all on one host, and give the same members; a rank connects to those below it. By rank,
/// none for this one and for ranks that are no members. Throws BootstrapError naming a rank that is
/// elsewhere, was lost or did not come.
std::vector<MeshLink> connect_local_ranks(Bootstrap& bootstrap,
                                          std::span<const engine::Rank> members);
/// Of a job that is on one host.
std::vector<MeshLink> connect_local_ranks(Bootstrap& bootstrap);

/// Why a process of user `peer` may not talk to one of user `self`.
std::optional<std::string> objection_to_user(uid_t peer, uid_t self);

}  // namespace hoccl::hw
