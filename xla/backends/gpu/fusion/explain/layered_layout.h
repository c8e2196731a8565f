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
  // By node: its upper left corner.
  std::vector<Point> corners;
  // By edge: from the lower side of one node to the upper side of the other
  // one, through the gaps between nodes of the layers in between.
  std::vector<std::vector<Point>> paths;
  double width = 0;
  double height = 0;
};

// Draws boxes of `sizes` (width, height) and `edges` between them, from lower
// to higher numbers, which must be valid.
//
// After K. Sugiyama, S. Tagawa, M. Toda, "Methods for visual understanding of
// hierarchical system structures" (1981): the layer of a node is that of its
// last predecessor plus one, nodes without predecessors move down to their
// first reader; an edge takes a place in each layer that it crosses; a fixed
// number of sweeps orders layers by the mean place of neighbors, and then moves
// nodes under and over these. O(sweeps * (nodes + layers crossed) * log).
LayeredLayout LayOutLayers(const std::vector<std::pair<double, double>>& sizes,
                           const std::vector<std::pair<int, int>>& edges);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_FUSION_EXPLAIN_LAYERED_LAYOUT_H_
