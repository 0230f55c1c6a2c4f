#pragma once

#include "engine/schedule/decomposition.h"

namespace hoccl::engine {

/// Plain Birkhoff-von Neumann, to compare with: the matrix is padded until every row and column has
/// the same sum; then, again and again, a perfect matching of what is left is found from scratch
/// and taken out as far as its smallest entry goes. Stage lengths add up to busiest_port(); at most
/// n^2 - 2n + 2 stages, and about that many for dense matrices.
Decomposition birkhoff_stages(const PortMatrix& matrix);

}  // namespace hoccl::engine
