#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hw/bootstrap/bootstrap.h"
#include "hw/bootstrap/launch.h"

namespace hoccl::hw::test {

/// The launches of one job on this host, by rank. Rank 0 has a listening socket that the others
/// know the port of, so there is no race for a port.
std::vector<Launch> make_launches(int size);

/// Runs `body` once per rank, each in a thread of its own. By rank: the text of the BootstrapError
/// it ended with, or nothing.
std::vector<std::string> run_ranks(int size, const std::function<void(int rank)>& body);

/// A job of `size` ranks, by rank. Fails the test when it does not come together.
std::vector<std::unique_ptr<Bootstrap>> connect_all(int size, const BootstrapOptions& options = {});

}  // namespace hoccl::hw::test
