#include "xla/hlo/transforms/spmd/windowed_einsum.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"
#include "xla/hlo/utils/hlo_sharding_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/util.h"

// A dot whose operand would have to be gathered, or whose result would have to
// be reduce-scattered, becomes a loop over a ring of devices: in each step the
// device multiplies the part that it has and passes it on to the next one
// (gather), or adds its part to a sum that travels (scatter). Communication of
// one step overlaps with the dot of another, and no device ever holds the whole
// operand. This is the decomposition of Wang et al., "Overlap Communication
// with Dependent Computation via Decomposition in Large Deep Learning Models"
// (ASPLOS 2023).
//
// Variants: both directions at once, which halves the number of steps, and
// unrolling by two, which saves copies of the loop state.

namespace xla::spmd {
namespace {

int64_t DimOfFactor(const FactorTensor& tensor, int64_t factor) {
  if (factor < 0) return -1;
  auto it = absl::c_find(tensor.factors, factor);
  return it == tensor.factors.end() ? -1 : it - tensor.factors.begin();
}

// Small operands are not worth a loop; the thresholds are options.
bool IsLargeEnough(const HloInstruction& dot, const Shape& counted,
                   const SpmdPartitionerOptions& options) {
  if (options.total_bytes_windowed_einsum_threshold.has_value()) {
    return ShapeSizeInBytes(dot.operand(0)->shape()) +
               ShapeSizeInBytes(dot.operand(1)->shape()) >=
           *options.total_bytes_windowed_einsum_threshold;
  }
  return ShapeSizeInBytes(counted) >> 20 >=
         options.threshold_for_windowed_einsum_mib;
}

// If another user gathers the operand anyway, the ring saves nothing.
bool IsGatheredByAnother(const HloInstruction& dot,
                         const HloInstruction& operand) {
  return absl::c_any_of(operand.users(), [&](const HloInstruction* user) {
    return user != &dot &&
           (user->opcode() == HloOpcode::kDot ||
            (user->shape().IsArray() && !user->sharding().IsTiledLeaf()));
  });
}

// Neighbors on the ring are devices with consecutive tiles along the
// dimension.
void SetRing(const FactorTensor& tensor, int64_t dim, WindowedDot* ring) {
  ring->count = ShardCountAtDim(tensor.sharding, dim);
  ring->window = CeilOfRatio(tensor.shape.dimensions(dim), ring->count);
  ring->ordinal = OrdinalTable(tensor.sharding, dim);
  ring->rings = GetPartitionGroupsForReplication(tensor.sharding, {dim})
                    ->flattened_replica_groups();
  for (const std::vector<int64_t>& devices : ring->rings) {
    for (int64_t tile = 0; tile < ring->count; ++tile) {
      ring->pairs.push_back({devices[(tile + 1) % ring->count], devices[tile]});
    }
  }
}

// Each device has a tile of its own.
bool HasNoCopies(const HloSharding& sharding, int64_t num_partitions) {
  return sharding.IsTiledLeaf() && !sharding.IsManualSubgroup() &&
         sharding.NumTiles() == num_partitions;
}

// The ring in which `moved` travels while `kept` and the result stay in place.
// Exactly one dimension of `moved` may be cut in a way that the result's
// sharding does not explain; that is the dimension whose tiles travel.
std::optional<WindowedDot> GatherRing(int64_t num_factors,
                                      const FactorTensor& moved,
                                      const FactorTensor& kept,
                                      const FactorTensor& result,
                                      int64_t num_partitions) {
  const std::optional<HloSharding> factors =
      FactorSharding(num_factors, result);
  if (!factors.has_value() || !HasNoCopies(moved.sharding, num_partitions) ||
      TensorSharding(*factors, result) != result.sharding) {
    return std::nullopt;
  }
  std::optional<int64_t> window;
  for (int64_t d = 0; d < moved.factors.size(); ++d) {
    if (moved.sharding.dimension(d) == 1) continue;
    const int64_t factor = moved.factors[d];
    if (factor >= 0 && factors->dimension(factor) > 1) continue;
    if (factor < 0 || window.has_value()) return std::nullopt;
    window = d;
  }
  if (!window.has_value() || ReplicatedOnDims(moved.sharding, {*window}) !=
                                 TensorSharding(*factors, moved)) {
    return std::nullopt;
  }
  WindowedDot ring;
  const int64_t factor = moved.factors[*window];
  ring.operand_dims[1] = DimOfFactor(kept, factor);
  ring.result_dim = DimOfFactor(result, factor);
  // Each device begins a sum with its own window: those of copies of a tile
  // would be rounded differently.
  if (ring.result_dim < 0 && !HasNoCopies(result.sharding, num_partitions)) {
    return std::nullopt;
  }
  ring.shardings = {moved.sharding, TensorSharding(*factors, kept)};
  SetRing(moved, *window, &ring);
  return ring;
}

bool IsPermitted(const WindowedDot& ring, int64_t num_partitions,
                 const SpmdPartitionerOptions& options) {
  return ring.count <= options.max_windowed_einsum_iteration &&
         (ring.count == num_partitions || options.partial_windowed_einsum);
}

std::optional<WindowedDot> ChooseGather(
    const HloInstruction& dot, int64_t num_factors,
    const std::array<const FactorTensor*, 2>& sides, const FactorTensor& result,
    bool in_place, int64_t num_partitions,
    const SpmdPartitionerOptions& options) {
  std::optional<WindowedDot> best;
  int64_t best_value = 0;
  for (int64_t moving : {1, 0}) {
    const FactorTensor& moved = *sides[moving];
    const FactorTensor& kept = *sides[1 - moving];
    std::optional<WindowedDot> ring =
        GatherRing(num_factors, moved, kept, result, num_partitions);
    if (!ring.has_value() || !IsPermitted(*ring, num_partitions, options) ||
        !IsLargeEnough(dot, moved.shape, options) ||
        (in_place && ring->shardings[1] != kept.sharding)) {
      continue;
    }
    if (!options.skip_checking_windowed_einsum_users &&
        IsGatheredByAnother(dot, *dot.operand(moving))) {
      continue;
    }
    const int64_t value = options.choose_faster_windowed_einsum_over_mem
                              ? ring->count
                              : ShapeSizeInBytes(moved.shape);
    if (value <= best_value) continue;
    best_value = value;
    best = std::move(ring);
    best->moving = moving;
    if (moving == 1) {
      std::swap(best->shardings[0], best->shardings[1]);
      std::swap(best->operand_dims[0], best->operand_dims[1]);
    }
  }
  return best;
}

// The ring in which partial sums travel: a contracting dimension is cut and so
// is a dimension of the result, by the same devices.
std::optional<WindowedDot> ChooseScatter(
    const HloInstruction& dot, int64_t num_factors, const FactorTensor& lhs,
    const FactorTensor& rhs, const FactorTensor& result,
    absl::Span<const int64_t> contracting, int64_t num_partitions,
    const SpmdPartitionerOptions& options) {
  std::optional<HloSharding> addends = FactorSharding(num_factors, lhs);
  const std::optional<HloSharding> other = FactorSharding(num_factors, rhs);
  const std::optional<HloSharding> wanted = FactorSharding(num_factors, result);
  if (!addends.has_value() || !other.has_value() || !wanted.has_value() ||
      !HasNoCopies(*wanted, num_partitions) ||
      TensorSharding(*wanted, result) != result.sharding) {
    return std::nullopt;
  }
  if (*addends != *other) {
    hlo_sharding_util::MergeShardingIfCompatible(*other, &*addends);
  }
  if (!HasNoCopies(*addends, num_partitions) ||
      TensorSharding(*addends, lhs) != lhs.sharding ||
      TensorSharding(*addends, rhs) != rhs.sharding ||
      !IsLargeEnough(dot, result.shape, options)) {
    return std::nullopt;
  }
  for (int64_t summed : contracting) {
    for (int64_t d = 0; d < result.factors.size(); ++d) {
      const int64_t factor = result.factors[d];
      if (addends->dimension(summed) == 1 || factor < 0 ||
          wanted->dimension(factor) == 1 || addends->dimension(factor) > 1 ||
          ReplicatedOnDims(*addends, {summed}) !=
              ReplicatedOnDims(*wanted, {factor})) {
        continue;
      }
      WindowedDot ring;
      ring.scatters = true;
      ring.operand_dims = {DimOfFactor(lhs, factor), DimOfFactor(rhs, factor)};
      ring.shardings = {lhs.sharding, rhs.sharding};
      SetRing(result, d, &ring);
      if (IsPermitted(ring, num_partitions, options)) return ring;
    }
  }
  return std::nullopt;
}

HloInstruction* AddSums(HloInstruction* a, HloInstruction* b,
                        SpmdBuilder* builder) {
  return AddBinary(
      a->shape().element_type() == PRED ? HloOpcode::kOr : HloOpcode::kAdd, a,
      b, builder);
}

// The state between two steps; sums are null before the first. What travels
// back, and the number of its window, are null where the ring runs one way.
struct RingState {
  std::array<HloInstruction*, 2> operands;
  HloInstruction* sum;
  HloInstruction* position;
  HloInstruction* back = nullptr;
  HloInstruction* back_position = nullptr;
};

// Emits one dot's loop. Step is used both in the loop body and for the peeled
// iterations; the state is a tuple of both operands, the sum, the position on
// the ring and the iteration, plus a second traveling part with its position
// if the ring runs both ways.
class RingEmitter {
 public:
  RingEmitter(HloInstruction* dot, const WindowedDot& ring, RingForm form,
              const PartitionedHlo::PartitioningState& state)
      : dot_(dot), ring_(ring), form_(form), state_(state) {}

  // Takes part in the dot what the device has now, of either direction.
  void Multiply(RingState* s, SpmdBuilder* b) const {
    MultiplyOne(s, /*back=*/false, b);
    if (form_.both_ways) MultiplyOne(s, /*back=*/true, b);
  }

  // One step onwards: shards go on after they were used, sums before.
  void Step(RingState* s, SpmdBuilder* b) {
    if (!ring_.scatters) Multiply(s, b);
    Send(s, /*back=*/false, b);
    if (form_.both_ways) Send(s, /*back=*/true, b);
    if (ring_.scatters) Multiply(s, b);
  }

  // Sends what travels to the next device, which counts on.
  void Send(RingState* s, bool back, SpmdBuilder* b) {
    std::vector<std::pair<int64_t, int64_t>> pairs = ring_.pairs;
    if (back) {
      for (auto& [source, target] : pairs) std::swap(source, target);
    }
    HloInstruction*& moving = Moving(s, back);
    moving = state_.collective_ops_creator.create_collective_permute(
        b, moving, pairs, (*state_.next_channel_id)++);
    hop_ = moving;
    HloInstruction*& position = back ? s->back_position : s->position;
    position = AddBinary(HloOpcode::kAdd, position,
                         CreateR0(back ? ring_.count - 1 : 1, S32, b), b);
  }

  // The loop of `iterations`, whose state replaces *s.
  HloInstruction* Loop(RingState* s, int64_t iterations) {
    SpmdBuilder* b = state_.b;
    HloInstruction* init = State(*s, CreateR0(0, S32, b), b);
    HloInstruction* loop = b->AddInstruction(HloInstruction::CreateWhile(
        init->shape(), Condition(init->shape(), iterations),
        Body(init->shape()), init));
    *s = Elements(loop, b);
    return loop;
  }

  // The shape of all windows if they are parts of the result, else of one
  // window.
  Shape SumShape() const {
    Shape shape = PartShape();
    if (ring_.result_dim >= 0) {
      shape.set_dimensions(ring_.result_dim, ring_.window * ring_.count);
    }
    return shape;
  }

  // What Send added last.
  const HloInstruction* hop() const { return hop_; }

 private:
  Shape PartShape() const {
    Shape shape = MakePartitionedShape(dot_->shape(), dot_->sharding());
    if (ring_.result_dim >= 0) {
      shape.set_dimensions(ring_.result_dim, ring_.window);
    }
    return shape;
  }

  static HloInstruction* Element(HloInstruction* tuple, int64_t i,
                                 SpmdBuilder* b) {
    return b->AddInstruction(HloInstruction::CreateGetTupleElement(
        tuple->shape().tuple_shapes(i), tuple, i));
  }

  HloInstruction*& Moving(RingState* s, bool back) const {
    if (back) return s->back;
    return ring_.scatters ? s->sum : s->operands[ring_.moving];
  }

  // The dot of one window: slices it out of the operands that stay, and either
  // updates that window of the result or adds to the sum.
  void MultiplyOne(RingState* s, bool back, SpmdBuilder* b) const {
    HloInstruction* start = AddBinary(
        HloOpcode::kMultiply,
        AddBinary(HloOpcode::kRemainder, back ? s->back_position : s->position,
                  CreateR0(ring_.count, S32, b), b),
        CreateR0(ring_.window, S32, b), b);
    std::array<HloInstruction*, 2> operands = s->operands;
    if (!ring_.scatters) operands[ring_.moving] = Moving(s, back);
    for (int64_t i = 0; i < 2; ++i) {
      operands[i] = Window(operands[i], ring_.operand_dims[i], start, b);
    }
    HloInstruction* part =
        b->AddInstruction(dot_->CloneWithNewOperands(PartShape(), operands));
    part->clear_sharding();
    if (ring_.result_dim >= 0) {
      s->sum = b->AddInstruction(HloInstruction::CreateDynamicUpdateSlice(
          s->sum->shape(), s->sum, part,
          Starts(s->sum->shape(), ring_.result_dim, start, b)));
      return;
    }
    HloInstruction*& sum = ring_.scatters ? Moving(s, back) : s->sum;
    sum = sum == nullptr ? part : AddSums(sum, part, b);
  }

  HloInstruction* State(const RingState& s, HloInstruction* iteration,
                        SpmdBuilder* b) const {
    std::vector<HloInstruction*> elements = {s.operands[0], s.operands[1],
                                             s.sum, s.position, iteration};
    if (form_.both_ways) {
      elements.push_back(s.back);
      elements.push_back(s.back_position);
    }
    return b->AddInstruction(HloInstruction::CreateTuple(elements));
  }

  RingState Elements(HloInstruction* tuple, SpmdBuilder* b) const {
    RingState s = {{Element(tuple, 0, b), Element(tuple, 1, b)},
                   Element(tuple, 2, b),
                   Element(tuple, 3, b)};
    if (form_.both_ways) {
      s.back = Element(tuple, 5, b);
      s.back_position = Element(tuple, 6, b);
    }
    return s;
  }

  static std::vector<HloInstruction*> Starts(const Shape& shape, int64_t dim,
                                             HloInstruction* start,
                                             SpmdBuilder* b) {
    std::vector<HloInstruction*> starts;
    for (int64_t d = 0; d < shape.dimensions().size(); ++d) {
      starts.push_back(d == dim ? start : CreateR0(0, S32, b));
    }
    return starts;
  }

  HloInstruction* Window(HloInstruction* operand, int64_t dim,
                         HloInstruction* start, SpmdBuilder* b) const {
    if (dim < 0) return operand;
    Shape shape = operand->shape();
    shape.set_dimensions(dim, ring_.window);
    return b->AddInstruction(HloInstruction::CreateDynamicSlice(
        shape, operand, Starts(shape, dim, start, b), shape.dimensions()));
  }

  HloComputation* Condition(const Shape& shape, int64_t iterations) const {
    SpmdBuilder b(absl::StrCat("windowed_dot_general_cond_", Form()), dot_);
    HloInstruction* parameter =
        b.AddInstruction(HloInstruction::CreateParameter(0, shape, "state"));
    HloInstruction* root =
        AddCompare(Element(parameter, 4, &b), ComparisonDirection::kLt,
                   CreateR0(iterations, S32, &b), &b);
    return state_.module->AddEmbeddedComputation(b.Build(root));
  }

  HloComputation* Body(const Shape& shape) {
    SpmdBuilder b(absl::StrCat("windowed_dot_general_body_", Form()), dot_);
    HloInstruction* parameter =
        b.AddInstruction(HloInstruction::CreateParameter(0, shape, "state"));
    RingState s = Elements(parameter, &b);
    for (int64_t i = 0; i < form_.steps; ++i) Step(&s, &b);
    HloInstruction* next = AddBinary(HloOpcode::kAdd, Element(parameter, 4, &b),
                                     CreateR0(1, S32, &b), &b);
    return state_.module->AddEmbeddedComputation(b.Build(State(s, next, &b)));
  }

  absl::string_view Form() const { return ring_.scatters ? "rs" : "ag"; }

  HloInstruction* dot_;
  const WindowedDot& ring_;
  const RingForm form_;
  const PartitionedHlo::PartitioningState& state_;
  const HloInstruction* hop_ = nullptr;
};

}  // namespace

std::optional<WindowedDot> ChooseWindowedDot(
    const HloInstruction& dot, int64_t num_factors, const FactorTensor& lhs,
    const FactorTensor& rhs, const FactorTensor& result,
    absl::Span<const int64_t> contracting, int64_t num_partitions,
    const SpmdPartitionerOptions& options) {
  const auto& attributes = dot.frontend_attributes().map();
  auto it = attributes.find("_xla_collective_matmul");
  if (it != attributes.end() && it->second == "none") return std::nullopt;
  // Rather a ring for which nothing else moves.
  auto gather = [&](bool in_place) {
    return options.enable_windowed_einsum_for_all_gather
               ? ChooseGather(dot, num_factors, {&lhs, &rhs}, result, in_place,
                              num_partitions, options)
               : std::nullopt;
  };
  std::optional<WindowedDot> ring = gather(/*in_place=*/true);
  if (!ring.has_value() && options.enable_windowed_einsum_for_reduce_scatter) {
    ring = ChooseScatter(dot, num_factors, lhs, rhs, result, contracting,
                         num_partitions, options);
  }
  if (!ring.has_value() && options.partial_windowed_einsum) {
    ring = gather(/*in_place=*/false);
  }
  return ring;
}

RingForm FormOfRing(int64_t count, const SpmdPartitionerOptions& options) {
  RingForm form;
  form.both_ways = options.bidirectional_windowed_einsum && count % 4 == 0;
  form.steps = options.unroll_windowed_einsum && !form.both_ways ? 2 : 1;
  return form;
}

// The loop covers all steps but the last, which needs no further transfer and
// is peeled.
WindowedDotLoop EmitWindowedDot(
    HloInstruction* dot, const WindowedDot& ring, HloInstruction* lhs,
    HloInstruction* rhs, RingForm form,
    const PartitionedHlo::PartitioningState& state) {
  SpmdBuilder* b = state.b;
  // Also where the loop counts.
  CheckIndex(ring.window * ring.count, b);
  RingState s = {{lhs, rhs}, nullptr, nullptr};
  for (int64_t i = 0; i < 2; ++i) {
    const int64_t dim = ring.operand_dims[i];
    if (dim < 0) continue;
    Shape padded = s.operands[i]->shape();
    padded.set_dimensions(dim, ring.window * ring.count);
    s.operands[i] = PadToShape(s.operands[i], padded, b);
  }
  // Shards start at their owners; sums end there.
  const int64_t visits = form.both_ways ? ring.count / 2 : ring.count;
  auto first = [&](int64_t shift) {
    std::vector<int64_t> table;
    for (int64_t ordinal : ring.ordinal) {
      table.push_back((ordinal + shift) % ring.count);
    }
    return TableLookup(table, S32, state.partition_id, b);
  };
  RingEmitter emitter(dot, ring, form, state);
  s.position = first(ring.scatters ? ring.count - visits + 1 : 0);
  if (ring.scatters) {
    if (form.both_ways) s.back_position = first(visits);
    emitter.Multiply(&s, b);
  } else {
    s.sum = CreateZero(emitter.SumShape(), b);
    if (form.both_ways) {
      s.back = s.operands[ring.moving];
      s.back_position = s.position;
      emitter.Send(&s, /*back=*/true, b);
    }
  }
  const int64_t total = visits - 1;
  WindowedDotLoop result = {nullptr, nullptr};
  if (total >= form.steps) {
    result.while_loop = emitter.Loop(&s, total / form.steps);
  }
  for (int64_t i = 0; i < total % form.steps; ++i) emitter.Step(&s, b);
  if (!ring.scatters) emitter.Multiply(&s, b);
  if (ring.scatters && form.both_ways) {
    emitter.Send(&s, /*back=*/true, b);
    s.sum = AddSums(s.sum, s.back, b);
  }
  result.result = SliceTo(
      s.sum, MakePartitionedShape(dot->shape(), dot->sharding()).dimensions(),
      b);
  result.hop = emitter.hop();
  result.hops = ring.count - 1;
  return result;
}

}  // namespace xla::spmd
