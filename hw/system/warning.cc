#include "hw/system/warning.h"

#include <cstdio>

namespace hoccl::hw {

void warn(const std::string& text) { std::fputs(text.c_str(), stderr); }

}  // namespace hoccl::hw
