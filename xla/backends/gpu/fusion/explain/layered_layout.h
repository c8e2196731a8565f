#ifndef XLA_BACKENDS_GPU_FUSION_EXPLAIN_LAYERED_LAYOUT_H_
#define XLA_BACKENDS_GPU_FUSION_EXPLAIN_LAYERED_LAYOUT_H_

#include <utility>
#include <vector>

namespace xla::gpu {

// A drawing of a graph in layers, top to bottom, in pixels.
struct LayeredLayout {
  struct Point {
    double x = 0;
    double y = 0;
  };
  // By node: the position of its upper left corner.
  std::vector<Point> corners;
  // By edge: from the lower side of one node to the upper side of the other,
  // through the gaps between the nodes of the layers in between.
  std::vector<std::vector<Point>> paths;
  double width = 0;
  double height = 0;
};

// Lays out boxes of `sizes` (width, height) and `edges` between them. Each edge
// must lead from a lower to a higher number, both valid.
//
// After K. Sugiyama, S. Tagawa, M. Toda, "Methods for visual understanding of
// hierarchical system structures" (1981): a node lies one layer below its last
// predecessor; nodes without predecessors move down to their first reader; an
// edge takes a place in each layer that it crosses; a fixed number of sweeps
// orders each layer by the mean position of its nodes' neighbors and then moves
// nodes below and above those. O(sweeps * (nodes + layers crossed) * log).
LayeredLayout LayOutLayers(const std::vector<std::pair<double, double>>& sizes,
                           const std::vector<std::pair<int, int>>& edges);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_FUSION_EXPLAIN_LAYERED_LAYOUT_H_
