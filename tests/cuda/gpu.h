#pragma once

#include <string>

namespace hoccl::hw {

/// Why a test that needs a GPU cannot run here; empty where it can, and then the first GPU is this
/// thread's. Call it before anything else of CUDA: it sets what CUDA reads when it starts.
std::string why_no_gpu();

}  // namespace hoccl::hw

// As the first line of a test or of SetUp().
#define HOCCL_NEEDS_GPU()                                                          \
  if (const std::string hoccl_why = ::hoccl::hw::why_no_gpu(); !hoccl_why.empty()) \
  GTEST_SKIP() << hoccl_why
