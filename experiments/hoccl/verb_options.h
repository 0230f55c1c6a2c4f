#pragma once

#include "experiments/hoccl/options.h"

namespace CLI {
class App;
}

namespace hoccl::cli {

// The options of each verb, with their help. Those that several verbs have are defined once.
void add_plan_options(CLI::App& app, PlanOptions& values);
void add_sim_options(CLI::App& app, SimOptions& values);
void add_run_options(CLI::App& app, RunOptions& values);
void add_validate_options(CLI::App& app, ValidateOptions& values);
void add_train_options(CLI::App& app, TrainOptions& values);
void add_doctor_options(CLI::App& app, DoctorOptions& values);
void add_calibrate_options(CLI::App& app, CalibrateOptions& values);

}  // namespace hoccl::cli
