#include "sim/train/model_shape.h"

namespace hoccl::sim {

// With h the hidden size, f the inner width of an MLP and E the number of experts:
//   attention   4 h^2 + 4 h      query, key and value (h x 3h), projection (h x h), their biases
//   each MLP    2 h f + f + h    two products and their biases
//   norms       4 h              scale and shift, before attention and before the MLP
//   router      h E              scores of the experts; only where there is a choice
std::int64_t layer_parameters(const ModelShape& model) {
  const std::int64_t hidden = model.hidden;
  const std::int64_t inner = model.feed_forward;
  const std::int64_t attention = 4 * hidden * hidden + 4 * hidden;
  const std::int64_t mlp = 2 * hidden * inner + inner + hidden;
  const std::int64_t norms = 4 * hidden;
  const std::int64_t router = model.experts > 1 ? hidden * model.experts : 0;
  return attention + model.experts * mlp + norms + router;
}

// Around the layers: embeddings of words (V h) and of positions (s h), and the last norm (2 h).
std::int64_t parameters(const ModelShape& model) {
  const std::int64_t hidden = model.hidden;
  const std::int64_t embeddings = (std::int64_t{model.vocabulary} + model.sequence) * hidden;
  return model.layers * layer_parameters(model) + embeddings + 2 * hidden;
}

// Forward, a token costs 2 operations per weight of a product, 2 (4 h^2 + 2 h f) per layer; 4 s h
// more per layer for scores and values of attention, whose masked half Megatron-LM counts too; and
// 2 h V for the logits. Backward costs twice as much: each product is followed by two.
double step_operations(const ModelShape& model, std::int64_t samples) {
  const double hidden = model.hidden;
  const double inner = model.feed_forward;
  const double sequence = model.sequence;
  const double products = 2.0 * (4.0 * hidden * hidden + 2.0 * hidden * inner);
  const double scores = 4.0 * sequence * hidden;
  const double logits = 2.0 * hidden * model.vocabulary;
  const double tokens = static_cast<double>(samples) * sequence;
  return 3.0 * tokens * (model.layers * (products + scores) + logits);
}

}  // namespace hoccl::sim
