#include "engine/base/check.h"
#include "hw/cuda/cuda_raii.h"
#include "hw/cuda/row_copies_raii.h"

namespace hoccl::hw {

namespace {

/// Calls `rows(target, source, length of each)` for two rows that are a copy; one of an odd size
/// takes its last byte, and the one before once more, in two further ones.
void cut(void* target, const void* source, std::size_t size, const auto& rows) {
  HOCCL_CHECK(size >= 2, "{} bytes have no two rows", size);
  rows(target, source, size / 2);
  if (size % 2 == 0) return;
  rows(static_cast<std::byte*>(target) + size - 2, static_cast<const std::byte*>(source) + size - 2,
       std::size_t{1});
}

}  // namespace

void copy_in_rows(void* target, const void* source, std::size_t size, cudaStream_t stream) {
  cut(target, source, size, [stream](void* to, const void* from, std::size_t row) {
    require_cuda(cudaMemcpy2DAsync(to, row, from, row, row, 2, cudaMemcpyDefault, stream),
                 "post a copy in rows");
  });
}

void RowCopies::add(void* target, const void* source, std::size_t size) {
  cut(target, source, size, [this](void* to, const void* from, std::size_t row) {
    cudaMemcpy3DBatchOp copy{};
    copy.src.type = cudaMemcpyOperandTypePointer;
    copy.src.op.ptr.ptr = const_cast<void*>(from);  // the interface has no const
    copy.dst.type = cudaMemcpyOperandTypePointer;
    copy.dst.op.ptr.ptr = to;
    copy.extent = {
        .width = row, .height = 2, .depth = 1};  // operands without a row length have no gaps
    copy.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    copies_.push_back(copy);
  });
}

void RowCopies::post(cudaStream_t stream) {
  require_cuda(cudaMemcpy3DBatchAsync(copies_.size(), copies_.data(), 0, stream),
               "post copies in rows");
}

}  // namespace hoccl::hw
