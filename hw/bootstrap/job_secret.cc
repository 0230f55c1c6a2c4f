#include "hw/bootstrap/job_secret.h"

#include <sodium.h>

#include <span>

#include "engine/base/config_error.h"
#include "hw/bootstrap/wire_bytes.h"

namespace hoccl::hw {

namespace {

constexpr std::size_t kDigits = 2 * JobSecret::kSize;

}  // namespace

JobSecret JobSecret::generate() {
  JobSecret secret;
  fill_random(secret.bytes_);
  return secret;
}

JobSecret JobSecret::parse(std::string_view digits) {
  JobSecret secret;
  std::size_t size = 0;
  const int result = sodium_hex2bin(reinterpret_cast<unsigned char*>(secret.bytes_.data()), kSize,
                                    digits.data(), digits.size(), nullptr, &size, nullptr);
  if (digits.size() != kDigits || result != 0 || size != kSize) {
    throw engine::ConfigError(
        "expected a job secret of 32 hexadecimal digits, as "
        "'openssl rand -hex 16' prints them");
  }
  return secret;
}

std::string JobSecret::digits() const {
  std::array<char, kDigits + 1> text;  // sodium adds a zero
  sodium_bin2hex(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes_.data()),
                 kSize);
  return {text.data(), kDigits};
}

JobSecret JobSecret::for_job(std::string_view job_name) const {
  const MacKey naming_key = key("hoccl job name");
  JobSecret secret;
  derive_key(naming_key, bytes_of(job_name), secret.bytes_);
  return secret;
}

MacKey JobSecret::key(std::string_view purpose) const {
  MacKey result;
  derive_key(bytes_, bytes_of(purpose), result);
  return result;
}

bool JobSecret::operator==(const JobSecret& other) const {
  return sodium_memcmp(bytes_.data(), other.bytes_.data(), kSize) == 0;
}

}  // namespace hoccl::hw
