// Of a stream that is disturbed somewhere, the frames before that are read as they were written and
// nothing of what follows is.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/check.h"
#include "hw/bootstrap/frame.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hoccl::hw;
  constexpr MacKey kKey = {std::byte{1}, std::byte{2}, std::byte{3}};
  const std::string_view input(reinterpret_cast<const char*>(data), size);

  // Half of the input is what is said, the other half what the attacker does to it.
  const std::string_view said = input.substr(0, size / 2);
  const std::string_view noise = input.substr(size / 2);
  const std::vector<std::string_view> payloads = {said, {}, said.substr(0, said.size() / 2)};
  FrameWriter writer(kKey);
  std::string stream;
  for (const std::string_view payload : payloads) writer.append(payload, stream);
  for (std::size_t i = 0; i < noise.size() && i < stream.size(); ++i) {
    stream[i] = static_cast<char>(stream[i] ^ noise[i]);
  }

  FrameReader reader(kKey);
  std::size_t count = 0;
  for (std::size_t at = 0; at < stream.size(); at += 7) {
    reader.append(std::string_view(stream).substr(at, 7));
    while (const std::optional<std::string> payload = reader.next()) {
      HOCCL_CHECK(count < payloads.size() && *payload == payloads[count], "frame {} is forged",
                  count);
      ++count;
    }
  }
  HOCCL_CHECK(count == payloads.size() || noise.find_first_not_of('\0') != std::string_view::npos,
              "only {} frames of an undisturbed stream", count);

  // And any bytes at all are no frame.
  FrameReader of_noise(kKey);
  of_noise.append(input);
  HOCCL_CHECK(!of_noise.next().has_value(), "noise is a frame");
  return 0;
}
