#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "hw/bootstrap/hello.h"
#include "hw/bootstrap/job_secret.h"
#include "hw/bootstrap/visitor.h"
#include "hw/system/file_descriptor.h"

namespace hoccl::hw::test {

/// A connection to a port of this host's loopback; fails the test when there is none.
FileDescriptor connect_to(std::uint16_t port);

/// As a rank would: says hello to rank 0 and waits for the verdict. Returns the visitor, to look at
/// its state, its reason and, if it was let in, its socket and keys.
Visitor visit(std::uint16_t port, const JobSecret& secret, const Introduction& self);

void send_text(const FileDescriptor& socket, const std::string& text);
/// What comes, up to `size` bytes, or less when the connection ends.
std::string receive_text(const FileDescriptor& socket, std::size_t size);
/// Whether the other end closes the connection within a while; what it says before is ignored.
bool is_closed(const FileDescriptor& socket);

}  // namespace hoccl::hw::test
