#pragma once

#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "sim/train/train.h"

namespace hoccl::cli {

/// What a simulated step is reported with.
struct TrainHead {
  std::string command;
  std::string calibration;
  std::vector<std::string> notes;  ///< lines of the table's head
};

/// Column and value, in the order of the files.
using TrainColumns = std::vector<std::pair<std::string, std::string>>;
TrainColumns train_columns(const sim::TrainingScenario& scenario, const TrainHead& head,
                           const sim::TrainingResult& result);

/// One row of one step.
void write_train_csv(std::ostream& stream, const TrainColumns& columns);
void write_train_json(std::ostream& stream, const TrainColumns& columns);
/// For people.
std::string train_table(const sim::TrainingScenario& scenario, const TrainHead& head,
                        const sim::TrainingResult& result);

/// SMs that each class holds on the GPU of rank 0, one row per change.
void write_sm_timeline(std::ostream& stream, const sim::TrainingResult& result);
/// CPU slack of all kernels in percentiles 0 to 100.
void write_slack(std::ostream& stream, const sim::TrainingResult& result);

}  // namespace hoccl::cli
