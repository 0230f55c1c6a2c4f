#pragma once

#include "engine/schedule/decomposition.h"

namespace hoccl::engine {

/// Critical-port threshold matching: stages whose lengths add up to busiest_port() exactly, as in
/// preemptive open-shop scheduling (Gonzalez and Sahni, J. ACM 23(4), 1976), and few of them.
///
/// With T the time that is left, a port is critical when it may not idle for `threshold` more: T -
/// (what it has left) < threshold. Each stage matches entries of at least `threshold` such that
/// every critical port is covered, and lasts until a matched entry is spent or an idle port becomes
/// tight; so it lasts at least `threshold`. Where no such matching exists the threshold falls. At 1
/// the critical ports are the tight ones, and these can always be covered. Nothing is padded, so
/// there are no dummy pieces to schedule.
Decomposition critical_stages(const PortMatrix& matrix);

}  // namespace hoccl::engine
