#ifndef XLA_HLO_TRANSFORMS_SPMD_RESHARD_SEARCH_H_
#define XLA_HLO_TRANSFORMS_SPMD_RESHARD_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "xla/hlo/transforms/spmd/reshard_plan.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla::spmd {

// Resharding as a shortest path. Device ids are factored into axes (stride and
// size) fine enough to express both shardings; a state assigns to each
// dimension the list of axes that cut it, major to minor. Edges are the data
// movements that a collective, or a local slice, can perform on such a state,
// weighted by the bytes a device receives:
//
//   slice       a dimension gains axes along which the data was replicated
//   all-gather  a dimension loses its minor axes
//   all-to-all  axes move from one dimension to another
//   permute     same tile counts, other devices
//
// The A* algorithm finds the cheapest sequence: states from which less is
// lacking come first. They are few where there are few axes, and after
// kMaxStatesVisited or kMaxRelaxed the search takes what it has found.
// With many axes, a whole value is gathered without a search. Dimensions
// that tiles do not divide evenly cost extra halos, which are included
// (Received).
class ReshardSearch {
 public:
  ReshardSearch(const Shape& shape, const ReshardPlan& plan, CutAxes target)
      : shape_(shape), axes_(plan.axes), target_(std::move(target)) {
    item_bytes_ = ShapeUtil::ByteSizeOfPrimitiveType(shape.element_type());
    free_.assign(axes_.size(), true);
    for (int i : plan.manual_axes) free_[i] = false;
  }

  // The A* algorithm; ties go to who lacks less, then to who came first.
  bool Run(ReshardPlan* plan);
  // To a whole value by one gather per dimension, minor ones first. A device
  // receives the other tiles once each, the least where all are full.
  bool GatherAll(ReshardPlan* plan) const;

 private:
  struct Node {
    double cost;
    // At least what it costs from here, Lacking.
    double left;
    ReshardStep step;
    const CutAxes* from;
  };

  void Relax(const CutAxes& from, double cost, ReshardStep::Kind kind,
             CutAxes after, double bytes);
  // Bytes of the target that some device still has to receive, and their step.
  double Lacking(const CutAxes& cuts) const;
  void TakeStepsTo(const Node& last, ReshardPlan* plan) const;
  void Slices(const CutAxes& cuts, double cost);
  void Gathers(const CutAxes& cuts, double cost);
  void Exchanges(const CutAxes& cuts, double cost);
  void Permutes(const CutAxes& cuts, double cost);
  // All axes at once that one all-to-all can bring to their places, or to such
  // places that only devices remain to be permuted.
  void ExchangesOfAll(const CutAxes& cuts, double cost);
  void RelaxExchange(const CutAxes& from, double cost, CutAxes after);

  // The shard that a device receives; nullopt if that is no step of this kind.
  std::optional<double> SliceBytes(const CutAxes& cuts, const CutAxes& after,
                                   int64_t d) const;
  std::optional<double> GatherBytes(const CutAxes& cuts, const CutAxes& after,
                                    int64_t d) const;
  std::optional<double> ExchangeBytes(const CutAxes& cuts,
                                      const CutAxes& after) const;
  // Elements along dimension d of which tiles become `to` long; 0 where it is
  // whole.
  std::optional<double> Received(const CutAxes& cuts, int64_t d, int64_t from,
                                 int64_t to) const;

  std::vector<int64_t> Dims(const CutAxes& cuts) const {
    return ShardDimensions(shape_, axes_, cuts);
  }
  double Bytes(const CutAxes& cuts) const {
    double bytes = item_bytes_;
    for (int64_t d : Dims(cuts)) bytes *= d;
    return bytes;
  }
  std::vector<int> Copies(const CutAxes& cuts) const {
    std::vector<int> copies;
    for (size_t i = 0; i < axes_.size(); ++i) {
      const bool cut = absl::c_any_of(cuts, [&](const std::vector<int>& dim) {
        return absl::c_linear_search(dim, static_cast<int>(i));
      });
      if (free_[i] && !cut) copies.push_back(i);
    }
    return copies;
  }
  const Shape& shape_;
  const std::vector<DeviceAxis>& axes_;
  const CutAxes target_;
  int64_t item_bytes_;
  std::vector<bool> free_;
  std::map<CutAxes, Node> nodes_;
  // What all of it costs at least, what is left of that, and the number.
  using Entry = std::tuple<double, double, int64_t, const CutAxes*>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue_;
  int64_t order_ = 0;
  int64_t relaxed_ = 0;
};

// The tiles that some of the axes cut together.
int64_t Tiles(absl::Span<const DeviceAxis> axes, absl::Span<const int> some);

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_RESHARD_SEARCH_H_
