#include "hw/bootstrap/hello.h"

#include <algorithm>
#include <string_view>

#include "engine/base/check.h"
#include "hw/bootstrap/wire_bytes.h"

namespace hoccl::hw {

namespace {

constexpr std::string_view kGreetingMagic = "HOCCLsrv";
constexpr std::string_view kHelloMagic = "HOCCLcli";
constexpr std::string_view kVerdictMagic = "HOCCLyes";

constexpr std::size_t kMagicSize = 8;
constexpr std::size_t kProtocolAt = kMagicSize;
constexpr std::size_t kRankAt = kProtocolAt + 4;
constexpr std::size_t kJobSizeAt = kRankAt + 4;
constexpr std::size_t kProgramAt = kJobSizeAt + 4;
constexpr std::size_t kNonceAt = kProgramAt + kMaxProgramVersion;
static_assert(kNonceAt + sizeof(Nonce) == sizeof(GreetingBytes));
constexpr std::size_t kCodeAt = kMagicSize;

void put_text(std::span<std::byte> target, std::string_view text) {
  std::ranges::copy(bytes_of(text), target.begin());
}

bool starts_with(std::span<const std::byte> bytes, std::string_view magic) {
  return std::ranges::equal(bytes.first(magic.size()), bytes_of(magic));
}

void put_introduction(std::span<std::byte> target, std::string_view magic,
                      const Introduction& introduction, const Nonce& nonce) {
  HOCCL_CHECK(introduction.program_version.size() <= kMaxProgramVersion, "program version '{}'",
              introduction.program_version);
  put_text(target, magic);
  put_u32(target.subspan(kProtocolAt), kProtocolVersion);
  put_u32(target.subspan(kRankAt), static_cast<std::uint32_t>(introduction.rank.value()));
  put_u32(target.subspan(kJobSizeAt), static_cast<std::uint32_t>(introduction.job_size));
  put_text(target.subspan(kProgramAt), introduction.program_version);
  std::ranges::copy(nonce, target.subspan(kNonceAt).begin());
}

Introduction get_introduction(std::span<const std::byte> source) {
  const auto program = source.subspan(kProgramAt, kMaxProgramVersion);
  Introduction introduction{
      .rank = engine::Rank(get_u32(source.subspan(kRankAt))),
      .job_size = static_cast<int>(get_u32(source.subspan(kJobSizeAt))),
      .program_version = {},
  };
  for (const std::byte letter : program) {
    if (letter == std::byte{0}) break;
    introduction.program_version.push_back(static_cast<char>(letter));
  }
  return introduction;
}

Mac hello_mac(const MacKey& key, const GreetingBytes& greeting,
              std::span<const std::byte, sizeof(GreetingBytes)> hello) {
  return compute_mac(key, {bytes_of(kHelloMagic), greeting, hello});
}

Mac verdict_mac(const MacKey& key, const GreetingBytes& greeting, const HelloBytes& hello,
                std::span<const std::byte> code) {
  return compute_mac(key, {bytes_of(kVerdictMagic), greeting, hello, code});
}

}  // namespace

GreetingBytes make_greeting(const Introduction& server, const Nonce& nonce) {
  GreetingBytes greeting{};
  put_introduction(greeting, kGreetingMagic, server, nonce);
  return greeting;
}

HelloBytes make_hello(const MacKey& key, const GreetingBytes& greeting, const Introduction& client,
                      const Nonce& nonce) {
  HelloBytes hello{};
  put_introduction(hello, kHelloMagic, client, nonce);
  const auto body = std::span(hello).first<sizeof(GreetingBytes)>();
  std::ranges::copy(hello_mac(key, greeting, body), hello.begin() + body.size());
  return hello;
}

VerdictBytes make_verdict(const MacKey& key, const GreetingBytes& greeting, const HelloBytes& hello,
                          Verdict verdict) {
  VerdictBytes bytes{};
  put_text(bytes, kVerdictMagic);
  const auto code = std::span(bytes).subspan<kCodeAt, 4>();
  put_u32(code, static_cast<std::uint32_t>(verdict));
  std::ranges::copy(verdict_mac(key, greeting, hello, code), bytes.begin() + kCodeAt + 4);
  return bytes;
}

SessionKeys make_session_keys(const MacKey& key, const GreetingBytes& greeting,
                              const HelloBytes& hello) {
  return {
      .to_server = compute_mac(key, {bytes_of("toserver"), greeting, hello}),
      .to_client = compute_mac(key, {bytes_of("toclient"), greeting, hello}),
  };
}

GreetingReading read_greeting(const GreetingBytes& greeting) {
  const bool understood = starts_with(greeting, kGreetingMagic) &&
                          get_u32(std::span(greeting).subspan(kProtocolAt)) == kProtocolVersion;
  if (!understood) return {};
  return {.understood = true, .server = get_introduction(greeting)};
}

HelloReading read_hello(const MacKey& key, const GreetingBytes& greeting, const HelloBytes& hello) {
  if (!starts_with(hello, kHelloMagic)) return {.verdict = Verdict::kNotAHello, .client = {}};
  if (get_u32(std::span(hello).subspan(kProtocolAt)) != kProtocolVersion) {
    return {.verdict = Verdict::kOtherProtocol, .client = {}};
  }
  const auto body = std::span(hello).first<sizeof(GreetingBytes)>();
  const auto mac = std::span(hello).last<sizeof(Mac)>();
  if (!equal_macs(hello_mac(key, greeting, body), mac)) {
    return {.verdict = Verdict::kWrongSecret, .client = {}};
  }
  HelloReading reading{.verdict = Verdict::kAccepted, .client = get_introduction(body)};
  const Introduction server = get_introduction(greeting);
  if (reading.client.program_version != server.program_version) {
    reading.verdict = Verdict::kOtherProgram;
  } else if (reading.client.job_size != server.job_size) {
    reading.verdict = Verdict::kOtherJobSize;
  }
  return reading;
}

VerdictReading read_verdict(const MacKey& key, const GreetingBytes& greeting,
                            const HelloBytes& hello, const VerdictBytes& verdict) {
  const auto code = std::span(verdict).subspan<kCodeAt, 4>();
  const auto mac = std::span(verdict).last<sizeof(Mac)>();
  const bool authentic = starts_with(verdict, kVerdictMagic) &&
                         equal_macs(verdict_mac(key, greeting, hello, code), mac) &&
                         get_u32(code) <= static_cast<std::uint32_t>(Verdict::kDuplicateRank);
  if (!authentic) return {};
  return {.authentic = true, .verdict = static_cast<Verdict>(get_u32(code))};
}

}  // namespace hoccl::hw
