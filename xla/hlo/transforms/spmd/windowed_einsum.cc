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
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/util.h"

namespace xla::spmd {
namespace {

int64_t DimOfFactor(const FactorTensor& tensor, int64_t factor) {
  if (factor < 0) return -1;
  auto it = absl::c_find(tensor.factors, factor);
  return it == tensor.factors.end() ? -1 : it - tensor.factors.begin();
}

// The factor that all devices cut, each its own tile, and nothing else.
std::optional<int64_t> OnlyCutFactor(const FactorTensor& tensor,
                                     int64_t num_partitions) {
  const HloSharding& sharding = tensor.sharding;
  if (!sharding.IsTiledLeaf() || sharding.IsManualSubgroup() ||
      sharding.NumTiles() != num_partitions) {
    return std::nullopt;
  }
  const std::optional<int64_t> dim = UniqueTiledDim(sharding);
  if (!dim.has_value() || tensor.factors[*dim] < 0) return std::nullopt;
  return tensor.factors[*dim];
}

// The devices hold the tiles of their factors in the same order.
bool SameOrder(const FactorTensor& a, const FactorTensor& b) {
  return OrdinalTable(a.sharding, *UniqueTiledDim(a.sharding)) ==
         OrdinalTable(b.sharding, *UniqueTiledDim(b.sharding));
}

bool IsLargeEnough(const HloInstruction& dot, const Shape& counted,
                   const SpmdPartitionerOptions& options) {
  if (options.total_bytes_windowed_einsum_threshold.has_value()) {
    return ShapeSizeInBytes(dot.operand(0)->shape()) +
               ShapeSizeInBytes(dot.operand(1)->shape()) >=
           *options.total_bytes_windowed_einsum_threshold;
  }
  return ShapeSizeInBytes(counted) >= options.threshold_for_windowed_einsum_mib
                                          << 20;
}

bool IsGatheredByAnother(const HloInstruction& dot,
                         const HloInstruction& operand) {
  return absl::c_any_of(operand.users(), [&](const HloInstruction* user) {
    return user != &dot &&
           (user->opcode() == HloOpcode::kDot ||
            (user->shape().IsArray() && !user->sharding().IsTiledLeaf()));
  });
}

void SetRing(const FactorTensor& tensor, bool scatters, WindowedDot* ring) {
  const int64_t dim = *UniqueTiledDim(tensor.sharding);
  const int64_t count = tensor.sharding.NumTiles();
  ring->num_partitions = count;
  ring->window = CeilOfRatio(tensor.shape.dimensions(dim), count);
  ring->first = OrdinalTable(tensor.sharding, dim);
  std::vector<int64_t> device(count);
  for (int64_t d = 0; d < count; ++d) device[ring->first[d]] = d;
  for (int64_t tile = 0; tile < count; ++tile) {
    ring->pairs.push_back({device[(tile + 1) % count], device[tile]});
  }
  if (!scatters) return;
  for (int64_t& first : ring->first) first = (first + 1) % count;
}

std::optional<WindowedDot> ChooseGather(
    const HloInstruction& dot, const std::array<const FactorTensor*, 2>& sides,
    const FactorTensor& result, int64_t num_partitions,
    const SpmdPartitionerOptions& options) {
  for (int64_t moving : {1, 0}) {
    const FactorTensor& moved = *sides[moving];
    const FactorTensor& kept = *sides[1 - moving];
    const auto window = OnlyCutFactor(moved, num_partitions);
    const auto shared = OnlyCutFactor(kept, num_partitions);
    if (!window.has_value() || !shared.has_value() ||
        OnlyCutFactor(result, num_partitions) != shared ||
        DimOfFactor(moved, *shared) >= 0 || !SameOrder(kept, result) ||
        !IsLargeEnough(dot, moved.shape, options)) {
      continue;
    }
    if (!options.skip_checking_windowed_einsum_users &&
        IsGatheredByAnother(dot, *dot.operand(moving))) {
      continue;
    }
    WindowedDot ring;
    ring.moving = moving;
    ring.operand_dims[1 - moving] = DimOfFactor(kept, *window);
    ring.result_dim = DimOfFactor(result, *window);
    SetRing(moved, /*scatters=*/false, &ring);
    return ring;
  }
  return std::nullopt;
}

std::optional<WindowedDot> ChooseScatter(
    const HloInstruction& dot, const FactorTensor& lhs, const FactorTensor& rhs,
    const FactorTensor& result, int64_t num_partitions,
    const SpmdPartitionerOptions& options) {
  const auto summed = OnlyCutFactor(lhs, num_partitions);
  const auto window = OnlyCutFactor(result, num_partitions);
  if (!summed.has_value() || !window.has_value() ||
      OnlyCutFactor(rhs, num_partitions) != summed ||
      DimOfFactor(result, *summed) >= 0 || !SameOrder(lhs, rhs) ||
      !IsLargeEnough(dot, result.shape, options)) {
    return std::nullopt;
  }
  WindowedDot ring;
  ring.scatters = true;
  ring.operand_dims = {DimOfFactor(lhs, *window), DimOfFactor(rhs, *window)};
  SetRing(result, /*scatters=*/true, &ring);
  return ring;
}

// The state between two steps; the sum is null before the first.
struct RingState {
  std::array<HloInstruction*, 2> operands;
  HloInstruction* sum;
  HloInstruction* position;
};

class RingEmitter {
 public:
  RingEmitter(HloInstruction* dot, const WindowedDot& ring,
              const PartitionedHlo::PartitioningState& state)
      : dot_(dot), ring_(ring), state_(state) {}

  // Takes part in the dot what the device has now.
  void Multiply(RingState* s, SpmdBuilder* b) const {
    HloInstruction* count = CreateR0(ring_.num_partitions, S32, b);
    HloInstruction* start =
        AddBinary(HloOpcode::kMultiply,
                  AddBinary(HloOpcode::kRemainder, s->position, count, b),
                  CreateR0(ring_.window, S32, b), b);
    std::vector<HloInstruction*> operands;
    for (int64_t i = 0; i < 2; ++i) {
      operands.push_back(
          Window(s->operands[i], ring_.operand_dims[i], start, b));
    }
    HloInstruction* part =
        b->AddInstruction(dot_->CloneWithNewOperands(PartShape(), operands));
    part->clear_sharding();
    if (ring_.result_dim >= 0) {
      s->sum = b->AddInstruction(HloInstruction::CreateDynamicUpdateSlice(
          s->sum->shape(), s->sum, part,
          Starts(s->sum->shape(), ring_.result_dim, start, b)));
    } else {
      const HloOpcode add = part->shape().element_type() == PRED
                                ? HloOpcode::kOr
                                : HloOpcode::kAdd;
      s->sum = s->sum == nullptr ? part : AddBinary(add, s->sum, part, b);
    }
  }

  // One step onwards: shards go on after they were used, sums before.
  void Step(RingState* s, SpmdBuilder* b) const {
    if (!ring_.scatters) Multiply(s, b);
    HloInstruction*& moving =
        ring_.scatters ? s->sum : s->operands[ring_.moving];
    auto pairs = ring_.pairs;
    moving = state_.collective_ops_creator.create_collective_permute(
        b, moving, pairs, (*state_.next_channel_id)++);
    s->position =
        AddBinary(HloOpcode::kAdd, s->position, CreateR0(1, S32, b), b);
    if (ring_.scatters) Multiply(s, b);
  }

  // The loop of `iterations` with `steps` each, whose state replaces *s.
  HloInstruction* Loop(RingState* s, int64_t iterations, int64_t steps) const {
    SpmdBuilder* b = state_.b;
    HloInstruction* init = b->AddInstruction(
        HloInstruction::CreateTuple({s->operands[0], s->operands[1], s->sum,
                                     s->position, CreateR0(0, S32, b)}));
    HloInstruction* loop = b->AddInstruction(HloInstruction::CreateWhile(
        init->shape(), Condition(init->shape(), iterations),
        Body(init->shape(), steps), init));
    for (int64_t i = 0; i < 2; ++i) s->operands[i] = Element(loop, i, b);
    s->sum = Element(loop, 2, b);
    s->position = Element(loop, 3, b);
    return loop;
  }

  // Of all windows, where they are parts of the result; else of one.
  Shape SumShape() const {
    Shape shape = PartShape();
    if (ring_.result_dim >= 0) {
      shape.set_dimensions(ring_.result_dim,
                           ring_.window * ring_.num_partitions);
    }
    return shape;
  }

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

  HloComputation* Body(const Shape& shape, int64_t steps) const {
    SpmdBuilder b(absl::StrCat("windowed_dot_general_body_", Form()), dot_);
    HloInstruction* parameter =
        b.AddInstruction(HloInstruction::CreateParameter(0, shape, "state"));
    RingState s = {{Element(parameter, 0, &b), Element(parameter, 1, &b)},
                   Element(parameter, 2, &b),
                   Element(parameter, 3, &b)};
    for (int64_t i = 0; i < steps; ++i) Step(&s, &b);
    HloInstruction* next = AddBinary(HloOpcode::kAdd, Element(parameter, 4, &b),
                                     CreateR0(1, S32, &b), &b);
    return state_.module->AddEmbeddedComputation(
        b.Build(b.AddInstruction(HloInstruction::CreateTuple(
            {s.operands[0], s.operands[1], s.sum, s.position, next}))));
  }

  absl::string_view Form() const { return ring_.scatters ? "rs" : "ag"; }

  HloInstruction* dot_;
  const WindowedDot& ring_;
  const PartitionedHlo::PartitioningState& state_;
};

}  // namespace

std::optional<WindowedDot> ChooseWindowedDot(
    const HloInstruction& dot, const FactorTensor& lhs, const FactorTensor& rhs,
    const FactorTensor& result, int64_t num_partitions,
    const SpmdPartitionerOptions& options) {
  if (num_partitions > options.max_windowed_einsum_iteration) {
    return std::nullopt;
  }
  const auto& attributes = dot.frontend_attributes().map();
  auto it = attributes.find("_xla_collective_matmul");
  if (it != attributes.end() && it->second == "none") return std::nullopt;
  if (options.enable_windowed_einsum_for_all_gather) {
    std::optional<WindowedDot> ring =
        ChooseGather(dot, {&lhs, &rhs}, result, num_partitions, options);
    if (ring.has_value()) return ring;
  }
  if (!options.enable_windowed_einsum_for_reduce_scatter) return std::nullopt;
  return ChooseScatter(dot, lhs, rhs, result, num_partitions, options);
}

WindowedDotLoop EmitWindowedDot(
    HloInstruction* dot, const WindowedDot& ring, HloInstruction* lhs,
    HloInstruction* rhs, int64_t steps,
    const PartitionedHlo::PartitioningState& state) {
  SpmdBuilder* b = state.b;
  RingState s = {{lhs, rhs}, nullptr, nullptr};
  for (int64_t i = 0; i < 2; ++i) {
    const int64_t dim = ring.operand_dims[i];
    if (dim < 0) continue;
    Shape padded = s.operands[i]->shape();
    padded.set_dimensions(dim, ring.window * ring.num_partitions);
    s.operands[i] = PadToShape(s.operands[i], padded, b);
  }
  s.position = TableLookup(ring.first, S32, state.partition_id, b);
  const RingEmitter emitter(dot, ring, state);
  if (ring.scatters) {
    emitter.Multiply(&s, b);
  } else {
    s.sum = CreateZero(emitter.SumShape(), b);
  }
  const int64_t total = ring.num_partitions - 1;
  WindowedDotLoop result = {nullptr, nullptr};
  if (total >= steps) {
    result.while_loop = emitter.Loop(&s, total / steps, steps);
  }
  for (int64_t i = 0; i < total % steps; ++i) emitter.Step(&s, b);
  if (!ring.scatters) emitter.Multiply(&s, b);
  result.result = SliceTo(
      s.sum, MakePartitionedShape(dot->shape(), dot->sharding()).dimensions(),
      b);
  return result;
}

absl::Status SpmdPartitioningVisitor::DoCodeMotionForWindowedDotGeneralLoops(
    HloComputation* computation) {
  return absl::OkStatus();
}

}  // namespace xla::spmd
