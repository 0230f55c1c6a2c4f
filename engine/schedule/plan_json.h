#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "engine/schedule/plan.h"

namespace hoccl::engine {

/// Version of the plan file; a file of another version is refused.
inline constexpr int kPlanSchema = 2;

/// The plan as JSON: keys in a fixed order, one transfer and one stage list per line, sizes as
/// whole bytes in keys that end in `_bytes`. A key is there only where it says something: `after`,
/// `via`, `more_targets`, `branches`, NICs, and of `stage` and `stage_list` one. The same plan
/// always gives the same text. The plan must have passed the verifier.
std::string plan_to_json(const Plan& plan);

/// Reads what plan_to_json wrote, strictly: unknown, double or missing keys, wrong types and values
/// out of range are ConfigErrors of one line "NAME: key 'K' = VALUE: expected ...". Whether a
/// topology can carry the plan is the verifier's question.
Plan plan_from_json(std::string_view text, const std::string& name);

/// Writes to a temporary name and renames it. Throws ConfigError naming the file.
void save_plan(const Plan& plan, const std::filesystem::path& file);
/// Throws ConfigError when the file cannot be read or plan_from_json refuses it.
Plan load_plan(const std::filesystem::path& file);

}  // namespace hoccl::engine
