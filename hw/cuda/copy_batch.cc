#include "hw/cuda/copy_batch_raii.h"
#include "hw/cuda/cuda_raii.h"

namespace hoccl::hw {

void CopyBatch::clear() {
  targets_.clear();
  sources_.clear();
  sizes_.clear();
}

void CopyBatch::add(void* target, const void* source, std::size_t size) {
  targets_.push_back(target);
  sources_.push_back(source);
  sizes_.push_back(size);
}

void CopyBatch::post(cudaStream_t stream) {
  // In stream order: any other order lets a source be read before what is ahead has written it.
  cudaMemcpyAttributes attributes{};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  std::size_t first = 0;  // of the copies with these attributes
  require_cuda(cudaMemcpyBatchAsync(targets_.data(), sources_.data(), sizes_.data(), sizes_.size(),
                                    &attributes, &first, 1, stream),
               "post a batch of copies");
}

}  // namespace hoccl::hw
