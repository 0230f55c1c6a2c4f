#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "engine/pattern/pattern.h"

namespace hoccl::engine {

inline constexpr int kFlowListSchema = 1;

/// A pattern of one's own, as JSON; only "class" may be left out (it is "foreground" then):
///
///     {"schema": 1, "name": "my-pattern", "rank_count": 16,
///      "flows": [{"source": 0, "targets": [8, 9], "source_offset_bytes": 0,
///                 "target_offset_bytes": 0, "size_bytes": 1048576, "class": "background"}]}
///
/// Targets ascend. A rank may be its own target, but not one of several: that copy is a flow of its
/// own. The name is 1 to 64 letters, digits, '-', '_' and '.', and none of pattern_names(). Flows
/// of 0 bytes are left out. The message size is the most bytes that a rank sends, a multicast
/// counted once, or receives; busbw is algbw.
///
/// `name` stands for the file in messages. Throws ConfigError of one line for anything else, also
/// when two flows write the same byte of a rank or a buffer exceeds kMaxMessageSize.
Pattern flow_list_from_json(std::string_view text, const std::string& name);
Pattern load_flow_list(const std::filesystem::path& file);

}  // namespace hoccl::engine
