#include <cstdio>
#include <exception>
#include <string>
#include <variant>
#include <vector>

#include "engine/base/config_error.h"
#include "experiments/hoccl/command_line.h"
#include "experiments/hoccl/plan_verb.h"
#ifdef HOCCL_WITH_SIM
#include "experiments/hoccl/sim_verb.h"
#endif

namespace hoccl::cli {
namespace {

constexpr int kRunFailed = 1;
constexpr int kBadInput = 2;

struct Runner {
  void operator()(const HelpText& help) const { std::fputs(help.text.c_str(), stdout); }
  void operator()(const PlanOptions& options) const { run_plan(options); }
#ifdef HOCCL_WITH_SIM
  void operator()(const SimOptions& options) const { run_sim(options); }
#else
  void operator()(const SimOptions&) const {}  // the parser knows no such verb
#endif
};

}  // namespace
}  // namespace hoccl::cli

int main(int argc, char** argv) {
  using namespace hoccl;
  try {
    std::visit(cli::Runner{}, cli::parse_command_line({argv + 1, argv + argc}));
  } catch (const engine::ConfigError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return cli::kBadInput;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "hoccl: %s\n", error.what());
    return cli::kRunFailed;
  }
  return 0;
}
