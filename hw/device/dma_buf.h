#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "hw/system/file_descriptor.h"

namespace hoccl::hw {

/// Exports memory of a GPU as a dma-buf, by which a NIC's driver can be given access to it; an
/// empty descriptor where the GPU's driver cannot. Null for memory that is no GPU's.
using DmaBufExport = std::function<FileDescriptor(std::span<std::byte>)>;

}  // namespace hoccl::hw
