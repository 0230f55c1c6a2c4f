#include <fmt/format.h>

#include "engine/base/config_error.h"
#include "engine/pattern/pattern.h"
#include "engine/pattern/sendrecv.h"

namespace hoccl::engine {

Pattern make_pattern(const PatternRequest& request, int rank_count) {
  if (request.name == kSendRecvName) {
    return send_recv(rank_count, request.source, request.target, request.size);
  }
  if (request.name == kSendRecvRingName) return send_recv_ring(rank_count, request.size);
  if (request.name == kPpChainName) return pp_chain(rank_count, request.size);
  throw ConfigError(fmt::format("pattern = '{}': expected one of: {}, {}, {}", request.name,
                                kSendRecvName, kSendRecvRingName, kPpChainName));
}

}  // namespace hoccl::engine
