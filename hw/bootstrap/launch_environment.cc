#include "hw/bootstrap/launch_environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <utility>

#include "engine/base/config_error.h"
#include "hw/bootstrap/secret_file.h"
#include "hw/bootstrap/wire_bytes.h"

namespace hoccl::hw {

namespace {

using engine::ConfigError;

constexpr int kMaxRanks = 1 << 16;
constexpr std::size_t kCandidatePorts = 8;
/// Ports that are derived lie above those of common services and below 32768, where Linux begins to
/// take the ports of outgoing connections from.
constexpr std::uint16_t kFirstDerivedPort = 10000;
constexpr std::uint16_t kDerivedPortCount = 22000;
/// Slurm numbers what is no step (a batch script, an interactive shell, ...) from here on.
constexpr std::int64_t kFirstSpecialStep = 0xfffffff0;

/// What a launcher says; where it does not say where to meet, `host` is none.
struct Found {
  std::string launcher;
  int rank = 0;
  int size = 0;
  /// Equal on all ranks of a job, different for another job with the same secret.
  std::string job_name;
  std::optional<std::string> host;
  std::vector<std::uint16_t> ports = {};  ///< empty: to be derived
};

std::optional<std::int64_t> parse_number(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

int checked_number(const std::string& name, const std::string& text, int low, int high) {
  const auto number = parse_number(text);
  if (!number || *number < low || *number > high) {
    throw ConfigError(
        fmt::format("{}={}: expected a whole number from {} to {}", name, text, low, high));
  }
  return static_cast<int>(*number);
}

std::string required(const Environment& environment, const std::string& name,
                     const std::string& why) {
  auto value = environment(name);
  if (!value) throw ConfigError(fmt::format("{} is not set: expected beside {}", name, why));
  return std::move(*value);
}

void read_rank_and_size(const Environment& environment, const std::string& rank_name,
                        const std::string& size_name, Found& found) {
  found.size = checked_number(size_name, required(environment, size_name, rank_name), 1, kMaxRanks);
  found.rank =
      checked_number(rank_name, required(environment, rank_name, size_name), 0, found.size - 1);
}

std::uint16_t parse_port(const std::string& name, const std::string& value,
                         const std::string& port) {
  const auto number = parse_number(port);
  if (!number || *number < 1 || *number > std::numeric_limits<std::uint16_t>::max()) {
    throw ConfigError(fmt::format("{}={}: expected a port from 1 to 65535", name, value));
  }
  return static_cast<std::uint16_t>(*number);
}

void read_rendezvous(const Environment& environment, Found& found) {
  const std::string name = "HOCCL_RENDEZVOUS";
  const auto value = environment(name);
  if (!value) return;
  const std::size_t colon = value->rfind(':');
  if (colon == std::string::npos || colon == 0) {
    throw ConfigError(fmt::format("{}={}: expected host:port", name, *value));
  }
  std::string host = value->substr(0, colon);
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (host.empty() || (!bracketed && host.find(':') != std::string::npos)) {
    throw ConfigError(
        fmt::format("{}={}: expected host:port, or [address]:port for IPv6", name, *value));
  }
  found.host = std::move(host);
  found.ports = {parse_port(name, *value, value->substr(colon + 1))};
}

std::optional<Found> started_by_us(const Environment& environment) {
  if (!environment("HOCCL_RANK")) return std::nullopt;
  Found found{.launcher = "hoccl", .job_name = {}, .host = {}};
  read_rank_and_size(environment, "HOCCL_RANK", "HOCCL_SIZE", found);
  if (found.size > 1) required(environment, "HOCCL_RENDEZVOUS", "HOCCL_RANK");
  return found;
}

std::optional<Found> started_by_torchrun(const Environment& environment) {
  if (!environment("RANK") || !environment("WORLD_SIZE") || !environment("MASTER_ADDR")) {
    return std::nullopt;
  }
  const std::string port_name = "MASTER_PORT";
  const std::string port_text = required(environment, port_name, "MASTER_ADDR");
  const std::uint16_t master_port = parse_port(port_name, port_text, port_text);
  Found found{.launcher = "torchrun",
              .job_name = fmt::format("torchrun {} {}",
                                      environment("TORCHELASTIC_RUN_ID").value_or(""), port_text),
              .host = environment("MASTER_ADDR")};
  read_rank_and_size(environment, "RANK", "WORLD_SIZE", found);
  // The port itself belongs to torchrun's store.
  for (std::size_t i = 1; i <= kCandidatePorts; ++i) {
    if (master_port + i <= std::numeric_limits<std::uint16_t>::max()) {
      found.ports.push_back(static_cast<std::uint16_t>(master_port + i));
    }
  }
  return found;
}

std::optional<Found> started_by_mpirun(const Environment& environment) {
  if (!environment("OMPI_COMM_WORLD_RANK")) return std::nullopt;
  const auto job = environment("PMIX_NAMESPACE");
  Found found{
      .launcher = "mpirun",
      .job_name = "mpirun " + (job ? *job : environment("OMPI_MCA_ess_base_jobid").value_or("")),
      .host = {}};
  read_rank_and_size(environment, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", found);
  const auto local_size = environment("OMPI_COMM_WORLD_LOCAL_SIZE");
  if (local_size == std::to_string(found.size)) found.host = "";
  return found;
}

std::optional<Found> started_by_srun(const Environment& environment) {
  auto step = environment("SLURM_STEP_ID");
  if (!step) step = environment("SLURM_STEPID");
  if (!step || !environment("SLURM_PROCID")) return std::nullopt;
  const auto step_number = parse_number(*step);
  if (!step_number || *step_number >= kFirstSpecialStep) return std::nullopt;
  Found found{
      .launcher = "srun",
      .job_name = fmt::format("srun {}.{}", environment("SLURM_JOB_ID").value_or(""), *step),
      .host = {}};
  const bool has_step_size = environment("SLURM_STEP_NUM_TASKS").has_value();
  read_rank_and_size(environment, "SLURM_PROCID",
                     has_step_size ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS", found);
  if (environment("SLURM_STEP_NUM_NODES") == "1") {
    found.host = "";
  } else if (const auto nodes = environment("SLURM_STEP_NODELIST")) {
    found.host = first_host(*nodes);
  }
  return found;
}

JobSecret read_secret(const Environment& environment, const std::string& launcher) {
  const std::string name = "HOCCL_JOB_SECRET";
  if (const auto digits = environment(name)) {
    try {
      return JobSecret::parse(*digits);
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("{}: {}", name, error.what()));
    }
  }
  if (const auto path = environment(name + "_FILE")) return read_secret_file(*path);
  throw ConfigError(fmt::format(
      "{0} is not set: expected the same secret on every rank; before {1}: "
      "export {0}=$(openssl rand -hex 16){2}",
      name, launcher,
      launcher == "mpirun" ? " (over several hosts also: mpirun -x " + name + ")" : ""));
}

/// Equal on all ranks, because they have the same secret.
std::vector<std::uint16_t> derive_ports(const JobSecret& secret) {
  const MacKey key = secret.key("hoccl ports");
  std::vector<std::uint16_t> ports;
  for (std::size_t i = 0; i < kCandidatePorts; ++i) {
    const auto random = get_u32(std::span(key).subspan(4 * i));
    const auto port = static_cast<std::uint16_t>(kFirstDerivedPort + random % kDerivedPortCount);
    if (std::ranges::find(ports, port) == ports.end()) ports.push_back(port);
  }
  return ports;
}

int read_listening_socket(const Environment& environment, const Found& found) {
  const std::string name = "HOCCL_LISTENING_SOCKET";
  const auto value = environment(name);
  if (found.launcher != "hoccl" || found.rank != 0 || !value) return -1;
  return checked_number(name, *value, 0, std::numeric_limits<int>::max());
}

}  // namespace

std::optional<Launch> read_launch(const Environment& environment) {
  auto found = started_by_us(environment);
  if (!found) found = started_by_torchrun(environment);
  if (!found) found = started_by_mpirun(environment);
  if (!found) found = started_by_srun(environment);
  if (!found) return std::nullopt;

  Launch launch;
  launch.launcher = found->launcher;
  launch.rank = engine::Rank(found->rank);
  launch.size = found->size;
  launch.listening_socket = read_listening_socket(environment, *found);
  if (found->size == 1) return launch;

  read_rendezvous(environment, *found);
  if (!found->host) {
    throw ConfigError(fmt::format(
        "{} on several hosts: expected HOCCL_RENDEZVOUS=host:port, where host is rank 0's{}",
        found->launcher, found->launcher == "mpirun" ? " (mpirun -x HOCCL_RENDEZVOUS)" : ""));
  }
  launch.host = *found->host;
  launch.secret = read_secret(environment, found->launcher);
  // Two jobs that were started with one secret must not meet.
  if (!found->job_name.empty()) launch.secret = launch.secret.for_job(found->job_name);
  launch.ports = found->ports.empty() ? derive_ports(launch.secret) : found->ports;
  return launch;
}

std::optional<Launch> read_launch_environment() {
  return read_launch([](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
  });
}

std::string first_host(const std::string& node_list) {
  std::string host;
  bool in_brackets = false;
  bool skipping = false;  // the other numbers of a bracket
  for (const char letter : node_list) {
    if (letter == '[') {
      in_brackets = true;
      skipping = false;
    } else if (letter == ']') {
      in_brackets = false;
      skipping = false;
    } else if (letter == ',' && !in_brackets) {
      break;
    } else if (in_brackets && (letter == ',' || letter == '-')) {
      skipping = true;
    } else if (!skipping) {
      host.push_back(letter);
    }
  }
  return host;
}

}  // namespace hoccl::hw
