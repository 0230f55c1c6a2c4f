#pragma once

#include <filesystem>

#include "engine/pattern/pattern.h"

namespace hoccl::engine {

/// A pattern from a file: a traffic matrix (.csv), which becomes an AllToAllv, or a flow list
/// (.json). `in_place` leaves out the matrix's diagonal; a flow list says itself what a rank sends
/// to itself. Throws ConfigError for another ending, and as all_to_all_v and flow_list_from_json.
Pattern load_pattern(const std::filesystem::path& file, bool in_place);

}  // namespace hoccl::engine
