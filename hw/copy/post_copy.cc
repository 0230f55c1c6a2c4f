#include "hw/copy/copy_channel.h"
#include "hw/copy/post_copy_raii.h"
#include "hw/cuda/cuda_raii.h"
#include "hw/cuda/row_copies_raii.h"

namespace hoccl::hw {

void post_copy(engine::CopyClass copy_class, void* target, const void* source, engine::Bytes size,
               cudaStream_t stream) {
  const auto bytes = static_cast<std::size_t>(size.count());
  if (needs_rows(copy_class, size)) {
    copy_in_rows(target, source, bytes, stream);
    return;
  }
  require_cuda(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault, stream), "post a copy");
}

}  // namespace hoccl::hw
