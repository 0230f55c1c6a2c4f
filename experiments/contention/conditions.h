#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "engine/base/units.h"
#include "experiments/contention/copy_load.h"
#include "experiments/contention/load.h"
#include "experiments/contention/pipeline_load.h"
#include "experiments/contention/sm_copy_load.h"

namespace hoccl::contention {

/// What runs beside the products, under a name.
struct Condition {
  std::string name;
  std::string what;
  std::variant<std::monostate, CopyLoadOptions, SmCopyLoadOptions, PipelineLoadOptions> load;
};

/// The memory that all of them need, on each side.
inline constexpr engine::Bytes kLoadMemory{std::int64_t{1} << 30};

/// The undisturbed product, which all others are compared with; the first one.
inline constexpr const char* kAlone = "alone";
/// Its rate is what the copies by SMs have to match.
inline constexpr const char* kReference = "both-2M";
inline constexpr const char* kPipeline = "pipeline";

/// The questions first, then what could explain the answer for D2H. `sm_rate`: of the copies by
/// SMs.
std::vector<Condition> all_conditions(engine::BytesPerSecond sm_rate);

/// What loads share because making it takes long.
struct LoadSetup {
  const LoadMemory& memory;
  std::shared_ptr<Load> pipeline;  ///< null where no condition needs it
};

/// Null for a condition without traffic.
std::shared_ptr<Load> load_of(const Condition& condition, const LoadSetup& setup);

}  // namespace hoccl::contention
