#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "engine/base/units.h"
#include "hw/system/file_descriptor.h"

namespace hoccl::hw {

/// Memory that can be handed to other processes as a file descriptor. It has no name in any file
/// system, so nothing is left behind whoever is killed; its size is sealed, so no process can make
/// another one fault. Copies share one mapping.
class SharedMemory {
 public:
  SharedMemory() = default;
  /// Zeroed, at least one page. `name` is for people (/proc/<pid>/maps). Throws SystemError.
  static SharedMemory create(const std::string& name, engine::Bytes size);
  /// Maps what another process created. Throws SystemError when it is not sealed or smaller than
  /// `size`.
  static SharedMemory attach(FileDescriptor descriptor, engine::Bytes size);

  [[nodiscard]] explicit operator bool() const { return mapping_ != nullptr; }
  [[nodiscard]] std::byte* data() const;
  [[nodiscard]] engine::Bytes size() const;
  /// Of memory that this process has created.
  [[nodiscard]] int descriptor() const;
  /// Keeps the mapping for as long as it lives.
  [[nodiscard]] std::shared_ptr<const void> owner() const { return mapping_; }

 private:
  struct Mapping;
  /// `keep`: the descriptor, to be handed on; otherwise the mapping is enough.
  static SharedMemory map(FileDescriptor descriptor, std::size_t size, bool keep);

  std::shared_ptr<Mapping> mapping_;
};

}  // namespace hoccl::hw
