#pragma once

#include <iosfwd>
#include <string>

#include "hw/calibrate/registration_cost.h"

namespace hoccl::cli {

struct RegistrationHead {
  std::string command;
  hw::RegistrationMachine machine;
  int rounds = 0;
};

/// To stdout: a line per size.
void print_registrations(const RegistrationHead& head, const hw::Samples& samples);
/// Every sample, behind comment lines that say where they come from.
void write_registrations(std::ostream& stream, const RegistrationHead& head,
                         const hw::Samples& samples);

}  // namespace hoccl::cli
