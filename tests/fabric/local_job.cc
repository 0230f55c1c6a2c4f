#include "tests/fabric/local_job.h"

#include <utility>

namespace hoccl::engine {

LocalJob::LocalJob(std::unique_ptr<FabricUnderTest> fabric, const PipelineOptions& pipeline,
                   const CompileOptions& compile)
    : fabric_(std::move(fabric)),
      job_(fabric_->fabric(), fabric_->topology().rank_count(), pipeline, compile) {
  for (int rank = 0; rank < job_.rank_count(); ++rank) {
    Port& port = fabric_->fabric().port(Rank(rank));
    second_.push_back(std::make_unique<Communicator>(port, std::uint16_t{1}, compile));
  }
}

Communicator& LocalJob::communicator(Rank rank, int index) {
  return index == 0 ? job_.communicator(rank) : *second_.at(rank.index());
}

WorkReference LocalJob::remember(Rank rank, std::shared_ptr<Work> work) {
  works_.push_back(std::move(work));
  return {rank, static_cast<int>(works_.size()) - 1};
}

WorkReference LocalJob::enqueue(Rank rank, int communicator,
                                const std::vector<SendRecvRequest>& group, StreamId stream) {
  return remember(rank, this->communicator(rank, communicator).enqueue(group, stream));
}

WorkReference LocalJob::run_plan(Rank rank, int communicator,
                                 const std::shared_ptr<const Plan>& plan, const Region& send_buffer,
                                 const Region& receive_buffer, StreamId stream) {
  return remember(
      rank, this->communicator(rank, communicator).run(plan, send_buffer, receive_buffer, stream));
}

}  // namespace hoccl::engine
