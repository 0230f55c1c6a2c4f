#include "tests/support/job.h"

#include <algorithm>

namespace hoccl::engine {

Job::Job(Fabric& fabric, int rank_count, const PipelineOptions& pipeline,
         const CompileOptions& compile)
    : fabric_(fabric), compile_(compile) {
  for (int i = 0; i < rank_count; ++i) {
    proxies_.push_back(std::make_unique<Proxy>(fabric.port(Rank(i)), pipeline));
    pointers_.push_back(proxies_.back().get());
  }
}

Communicator& Job::communicator(Rank rank, std::uint16_t id) {
  std::unique_ptr<Communicator>& found = communicators_[{id, rank}];
  if (found == nullptr) {
    found = std::make_unique<Communicator>(fabric_.port(rank), id, compile_);
  }
  return *found;
}

bool Job::quiescent() const {
  return std::ranges::all_of(proxies_, [](const auto& proxy) { return proxy->quiescent(); });
}

}  // namespace hoccl::engine
