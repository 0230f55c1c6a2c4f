#include <cstdio>
#include <exception>
#include <string>
#include <variant>
#include <vector>

#include "engine/base/config_error.h"
#include "experiments/hoccl/calibrate_verb.h"
#include "experiments/hoccl/command_line.h"
#include "experiments/hoccl/doctor_verb.h"
#include "experiments/hoccl/plan_verb.h"
#include "experiments/hoccl/run_verb.h"
#ifdef HOCCL_WITH_SIM
#include "experiments/hoccl/sim_verb.h"
#include "experiments/hoccl/train_verb.h"
#include "experiments/hoccl/validate_verb.h"
#endif

namespace hoccl::cli {
namespace {

constexpr int kRunFailed = 1;
constexpr int kBadInput = 2;

/// Each returns the exit code.
struct Runner {
  int operator()(const HelpText& help) const {
    std::fputs(help.text.c_str(), stdout);
    return 0;
  }
  int operator()(const PlanOptions& options) const {
    run_plan(options);
    return 0;
  }
  int operator()(const RunOptions& options) const { return run_run(options); }
  int operator()(const DoctorOptions& options) const { return run_doctor(options); }
  int operator()(const CalibrateOptions& options) const { return run_calibrate(options); }
#ifdef HOCCL_WITH_SIM
  int operator()(const SimOptions& options) const {
    run_sim(options);
    return 0;
  }
  int operator()(const ValidateOptions& options) const { return run_validate(options); }
  int operator()(const TrainOptions& options) const {
    run_train(options);
    return 0;
  }
#else
  // The parser knows no such verbs.
  int operator()(const SimOptions&) const { return kBadInput; }
  int operator()(const ValidateOptions&) const { return kBadInput; }
  int operator()(const TrainOptions&) const { return kBadInput; }
#endif
};

/// What was printed may not have been written: a full disk, a closed pipe.
int end_of(int exit_code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  std::fputs("hoccl: the standard output could not be written\n", stderr);
  return exit_code == 0 ? kRunFailed : exit_code;
}

}  // namespace
}  // namespace hoccl::cli

int main(int argc, char** argv) {
  using namespace hoccl;
  try {
    return cli::end_of(std::visit(cli::Runner{}, cli::parse_command_line({argv + 1, argv + argc})));
  } catch (const engine::ConfigError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return cli::kBadInput;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "hoccl: %s\n", error.what());
    return cli::kRunFailed;
  }
}
