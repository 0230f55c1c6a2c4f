#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "experiments/contention/load.h"

namespace hoccl::contention {

/// The project's own pipeline: messages from one rank to the other, back to back, where both are
/// threads of this process on its first GPU. Nothing to choose.
struct PipelineLoadOptions {};

/// Sets it up and tries it, which takes long: one serves all measurements. `source`: what is sent
/// is its beginning. Throws std::runtime_error when an operation fails, and so do start() and
/// stop().
std::unique_ptr<Load> pipeline_load(std::span<const std::byte> source);

}  // namespace hoccl::contention
