#include "tests/support/job.h"

#include <algorithm>

namespace hoccl::engine {

Job::Job(Fabric& fabric, int rank_count, const PipelineOptions& pipeline,
         const CompileOptions& compile) {
  for (int i = 0; i < rank_count; ++i) {
    Port& port = fabric.port(Rank(i));
    proxies_.push_back(std::make_unique<Proxy>(port, pipeline));
    communicators_.push_back(std::make_unique<Communicator>(port, std::uint16_t{0}, compile));
    pointers_.push_back(proxies_.back().get());
  }
}

bool Job::quiescent() const {
  return std::ranges::all_of(proxies_, [](const auto& proxy) { return proxy->quiescent(); });
}

}  // namespace hoccl::engine
