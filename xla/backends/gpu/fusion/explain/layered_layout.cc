#include "xla/backends/gpu/fusion/explain/layered_layout.h"

#include <algorithm>
#include <cstddef>

namespace xla::gpu {
namespace {

constexpr int kSweeps = 12;
// Pixels between boxes of a layer, and between layers.
constexpr double kGapX = 16;
constexpr double kGapY = 34;
constexpr double kEdgeWidth = 6;

// Nodes, and the places of edges in the layers that they cross.
//
// A layered drawing in the manner of K. Sugiyama, S. Tagawa and M. Toda
// ("Methods for visual understanding of hierarchical system structures", IEEE
// Trans. SMC 1981): layers by longest path, dummy nodes where edges cross
// layers, barycenter sweeps in alternating directions to reduce crossings, and
// sweeps that move nodes towards their neighbors within the order found.
class Drawing {
 public:
  Drawing(const std::vector<std::pair<double, double>>& sizes,
          const std::vector<std::pair<int, int>>& edges)
      : sizes_(sizes), nodes_(sizes.size()) {
    AssignLayers(edges);
    chains_.reserve(edges.size());
    above_.resize(nodes_);
    below_.resize(nodes_);
    for (const auto& [from, to] : edges) AddChain(from, to);
    for (size_t i = 0; i < layer_.size(); ++i) {
      if (layers_.size() <= static_cast<size_t>(layer_[i])) {
        layers_.resize(layer_[i] + 1);
      }
      layers_[layer_[i]].push_back(static_cast<int>(i));
    }
    x_.resize(layer_.size());
    place_.resize(layer_.size());
    Renumber();
  }

  LayeredLayout Draw() {
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      ForEachLayer(sweep % 2 == 0, [&](int layer, bool down) {
        OrderLayer(layer, down ? above_ : below_);
      });
    }
    for (std::vector<int>& layer : layers_) Pack(layer);
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      ForEachLayer(sweep % 2 == 0, [&](int layer, bool down) {
        MoveLayer(layers_[layer], down ? above_ : below_);
      });
    }
    return Finish();
  }

 private:
  // Edges lead to higher numbers, so that one pass finds the longest paths.
  // Nodes without sources would all be at the top; each moves right above its
  // first reader.
  void AssignLayers(const std::vector<std::pair<int, int>>& edges) {
    layer_.assign(nodes_, 0);
    std::vector<std::vector<int>> readers(nodes_);
    std::vector<bool> is_source(nodes_, true);
    for (const auto& [from, to] : edges) {
      readers[from].push_back(to);
      is_source[to] = false;
    }
    for (size_t i = 0; i < nodes_; ++i) {
      for (int reader : readers[i]) {
        layer_[reader] = std::max(layer_[reader], layer_[i] + 1);
      }
    }
    for (size_t i = 0; i < nodes_; ++i) {
      if (!is_source[i] || readers[i].empty()) continue;
      int first = layer_[readers[i][0]];
      for (int reader : readers[i]) first = std::min(first, layer_[reader]);
      layer_[i] = first - 1;
    }
  }

  void AddChain(int from, int to) {
    std::vector<int> chain = {from};
    for (int layer = layer_[from] + 1; layer < layer_[to]; ++layer) {
      const int crossing = static_cast<int>(layer_.size());
      layer_.push_back(layer);
      above_.emplace_back();
      below_.emplace_back();
      chain.push_back(crossing);
    }
    chain.push_back(to);
    for (size_t i = 0; i + 1 < chain.size(); ++i) {
      below_[chain[i]].push_back(chain[i + 1]);
      above_[chain[i + 1]].push_back(chain[i]);
    }
    chains_.push_back(std::move(chain));
  }

  template <typename Fn>
  void ForEachLayer(bool down, const Fn& fn) {
    const int count = static_cast<int>(layers_.size());
    for (int i = 0; i < count; ++i) fn(down ? i : count - 1 - i, down);
  }

  void Renumber() {
    for (const std::vector<int>& layer : layers_) {
      for (size_t i = 0; i < layer.size(); ++i) {
        place_[layer[i]] = static_cast<double>(i);
      }
    }
  }

  void OrderLayer(int number, const std::vector<std::vector<int>>& neighbors) {
    std::vector<int>& layer = layers_[number];
    std::vector<std::pair<double, int>> keys;
    for (int node : layer) {
      double sum = 0;
      for (int other : neighbors[node]) sum += place_[other];
      const double mean =
          neighbors[node].empty()
              ? place_[node]
              : sum / static_cast<double>(neighbors[node].size());
      keys.emplace_back(mean, node);
    }
    std::stable_sort(
        keys.begin(), keys.end(),
        [](const auto& a, const auto& b) { return a.first < b.first; });
    for (size_t i = 0; i < layer.size(); ++i) {
      layer[i] = keys[i].second;
      place_[layer[i]] = static_cast<double>(i);
    }
  }

  double WidthOf(int node) const {
    return static_cast<size_t>(node) < nodes_ ? sizes_[node].first : kEdgeWidth;
  }

  // Side by side, centers in x_.
  void Pack(const std::vector<int>& layer) {
    double x = 0;
    for (int node : layer) {
      x_[node] = x + WidthOf(node) / 2;
      x += WidthOf(node) + kGapX;
    }
    for (int node : layer) x_[node] -= (x - kGapX) / 2;
  }

  // Towards the neighbors, as far as the order and the widths let them.
  void MoveLayer(const std::vector<int>& layer,
                 const std::vector<std::vector<int>>& neighbors) {
    std::vector<double> wanted;
    for (int node : layer) {
      double sum = 0;
      for (int other : neighbors[node]) sum += x_[other];
      wanted.push_back(neighbors[node].empty()
                           ? x_[node]
                           : sum / static_cast<double>(neighbors[node].size()));
    }
    double shift = 0;
    for (size_t i = 0; i < layer.size(); ++i) {
      x_[layer[i]] = wanted[i];
      if (i > 0) {
        const double room =
            (WidthOf(layer[i - 1]) + WidthOf(layer[i])) / 2 + kGapX;
        x_[layer[i]] = std::max(wanted[i], x_[layer[i - 1]] + room);
      }
      shift += wanted[i] - x_[layer[i]];
    }
    for (int node : layer) {
      x_[node] += shift / static_cast<double>(layer.size());
    }
  }

  LayeredLayout Finish() const {
    LayeredLayout layout;
    double left = 0, right = 0;
    for (size_t i = 0; i < x_.size(); ++i) {
      const double half = WidthOf(static_cast<int>(i)) / 2;
      left = i == 0 ? x_[i] - half : std::min(left, x_[i] - half);
      right = i == 0 ? x_[i] + half : std::max(right, x_[i] + half);
    }
    std::vector<double> top(layers_.size()), bottom(layers_.size());
    double y = 0;
    for (size_t i = 0; i < layers_.size(); ++i) {
      double height = 0;
      for (int node : layers_[i]) {
        if (static_cast<size_t>(node) >= nodes_) continue;
        height = std::max(height, sizes_[node].second);
      }
      top[i] = y;
      bottom[i] = y + height;
      y = bottom[i] + kGapY;
    }
    layout.width = right - left;
    layout.height = layers_.empty() ? 0 : y - kGapY;
    for (size_t i = 0; i < nodes_; ++i) {
      layout.corners.push_back(
          {x_[i] - left - sizes_[i].first / 2, top[layer_[i]]});
    }
    for (const std::vector<int>& chain : chains_) {
      std::vector<LayeredLayout::Point> path;
      const int from = chain.front(), to = chain.back();
      path.push_back(
          {x_[from] - left, top[layer_[from]] + sizes_[from].second});
      for (size_t i = 1; i + 1 < chain.size(); ++i) {
        path.push_back({x_[chain[i]] - left, top[layer_[chain[i]]]});
        path.push_back({x_[chain[i]] - left, bottom[layer_[chain[i]]]});
      }
      path.push_back({x_[to] - left, top[layer_[to]]});
      layout.paths.push_back(std::move(path));
    }
    return layout;
  }

  const std::vector<std::pair<double, double>>& sizes_;
  const size_t nodes_;
  // By node and crossing.
  std::vector<int> layer_;
  std::vector<std::vector<int>> above_;
  std::vector<std::vector<int>> below_;
  std::vector<double> place_;
  std::vector<double> x_;
  // By edge: nodes and crossings on its way.
  std::vector<std::vector<int>> chains_;
  std::vector<std::vector<int>> layers_;
};

}  // namespace

LayeredLayout LayOutLayers(const std::vector<std::pair<double, double>>& sizes,
                           const std::vector<std::pair<int, int>>& edges) {
  return Drawing(sizes, edges).Draw();
}

}  // namespace xla::gpu
