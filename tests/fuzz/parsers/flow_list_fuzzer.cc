// Any text is either a pattern, whose flows lie within the buffers and name ranks that exist, or
// refused in one line.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/base/check.h"
#include "engine/base/config_error.h"
#include "engine/pattern/flow_list.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hoccl::engine;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const Pattern pattern = flow_list_from_json(text, "fuzz.json");
    const Rank end(pattern.rank_count);
    for (const Flow& flow : pattern.flows) {
      HOCCL_CHECK(flow.size > Bytes(0) && flow.size <= pattern.message_size, "size {}",
                  flow.size.count());
      HOCCL_CHECK(flow.source_offset + flow.size <= kMaxMessageSize &&
                      flow.target_offset + flow.size <= kMaxMessageSize,
                  "beyond every buffer");
      HOCCL_CHECK(flow.source >= Rank(0) && flow.source < end, "source {}", flow.source);
      Rank last = Rank(-1);
      for (const Rank target : targets_of(flow)) {
        HOCCL_CHECK(target > last && target < end, "target {} after {}", target, last);
        last = target;
      }
    }
  } catch (const ConfigError& error) {
    HOCCL_CHECK(std::string_view(error.what()).find('\n') == std::string_view::npos,
                "more than one line: {}", error.what());
  }
  return 0;
}
