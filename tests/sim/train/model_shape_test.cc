#include "sim/train/model_shape.h"

#include <gtest/gtest.h>

namespace hoccl::sim {
namespace {

/// Sizes without a common factor, so that no term can stand for another.
constexpr ModelShape kOddShape{
    .layers = 3, .hidden = 50, .heads = 10, .feed_forward = 77, .sequence = 31, .vocabulary = 101};

std::int64_t product_with_bias(std::int64_t inputs, std::int64_t outputs) {
  return inputs * outputs + outputs;
}

TEST(ModelShape, ALayerHoldsItsProductsWithBiasesAndTwoNorms) {
  const std::int64_t h = kOddShape.hidden;
  const std::int64_t f = kOddShape.feed_forward;
  const std::int64_t norm = h + h;
  EXPECT_EQ(layer_parameters(kOddShape), norm + product_with_bias(h, 3 * h) +
                                             product_with_bias(h, h) + norm +
                                             product_with_bias(h, f) + product_with_bias(f, h));
}

TEST(ModelShape, AnExpertIsOneMoreMlpAndOneMoreScoreOfTheRouter) {
  ModelShape model = kOddShape;
  const std::int64_t h = model.hidden;
  const std::int64_t f = model.feed_forward;
  const std::int64_t mlp = product_with_bias(h, f) + product_with_bias(f, h);
  model.experts = 4;
  const std::int64_t four = layer_parameters(model);
  model.experts = 5;
  EXPECT_EQ(layer_parameters(model) - four, mlp + h);
  EXPECT_EQ(four - layer_parameters(kOddShape), 3 * mlp + 4 * h);
}

TEST(ModelShape, TheEmbeddingIsCountedOnceAndPositionsAreLearned) {
  const std::int64_t h = kOddShape.hidden;
  EXPECT_EQ(parameters(kOddShape), 3 * layer_parameters(kOddShape) + 101 * h + 31 * h + 2 * h);
}

TEST(ModelShape, Gpt3Of6BillionParametersHasAsManyAsItsNameSays) {
  const ModelShape gpt{.layers = 32,
                       .hidden = 4096,
                       .heads = 32,
                       .feed_forward = 4 * 4096,
                       .sequence = 2048,
                       .vocabulary = 51200};
  EXPECT_NEAR(static_cast<double>(parameters(gpt)), 6.7e9, 0.05e9);
}

TEST(ModelShape, StepOperationsAreMegatronsForAnMlpOfFourTimesTheHiddenSize) {
  for (const int hidden : {64, 4096, 12288}) {
    const ModelShape model{.layers = 24,
                           .hidden = hidden,
                           .heads = 8,
                           .feed_forward = 4 * hidden,
                           .sequence = 1024,
                           .vocabulary = 51200};
    const double b = 7.0;
    const double s = 1024.0;
    const double l = 24.0;
    const double h = hidden;
    const double v = 51200.0;
    const double expected = 72.0 * b * s * l * h * h * (1.0 + s / (6.0 * h) + v / (12.0 * l * h));
    EXPECT_NEAR(step_operations(model, 7) / expected, 1.0, 1e-12) << hidden;
  }
}

TEST(ModelShape, AWiderMlpAddsTwoProductsThreeTimesPerTokenAndLayer) {
  ModelShape wider = kOddShape;
  wider.feed_forward += 10;
  const double tokens = 2.0 * kOddShape.sequence;
  const double added = 2.0 * 2.0 * kOddShape.hidden * 10.0;
  EXPECT_DOUBLE_EQ(step_operations(wider, 2) - step_operations(kOddShape, 2),
                   3.0 * tokens * kOddShape.layers * added);
}

TEST(ModelShape, ExpertsDoNotChangeTheOperations) {
  ModelShape model = kOddShape;
  model.experts = 8;
  EXPECT_EQ(step_operations(model, 5), step_operations(kOddShape, 5));
}

}  // namespace
}  // namespace hoccl::sim
