#include "engine/schedule/node_cut.h"

namespace hoccl::engine {

NodeCut worst_cut(Bytes relayed, const std::vector<RelayPort>& gpus, BytesPerSecond nvlink) {
  // Dinkelbach: with the ratio so far as T, the better set is where U beats the others one by one;
  // each round's ratio is higher, and there are finitely many sets.
  const auto cut_at = [&](Seconds time) {
    NodeCut cut{.load = relayed, .rate = BytesPerSecond(0.0), .gpus = 0};
    for (const RelayPort& gpu : gpus) {
      const bool in = gpu.nics >= nvlink || static_cast<double>(gpu.own.count()) >
                                                time.count() * (nvlink.value() - gpu.nics.value());
      if (in) cut.load += gpu.own;
      if (in) ++cut.gpus;
      cut.rate = cut.rate + (in ? nvlink : gpu.nics);
    }
    return cut;
  };
  // To begin with: all NVLinks, whose rate is never 0.
  NodeCut best{.load = relayed, .rate = BytesPerSecond(0.0), .gpus = gpus.size()};
  for (const RelayPort& gpu : gpus) {
    best.load += gpu.own;
    best.rate = best.rate + nvlink;
  }
  if (gpus.empty() || best.load == Bytes(0)) return best;
  while (true) {
    const NodeCut next = cut_at(best.load / best.rate);
    if (next.load == Bytes(0) || next.rate.value() <= 0.0) return best;
    if (next.load / next.rate <= best.load / best.rate) return best;
    best = next;
  }
}

}  // namespace hoccl::engine
