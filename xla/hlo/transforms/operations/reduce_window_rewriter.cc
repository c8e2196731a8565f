#include "xla/hlo/transforms/operations/reduce_window_rewriter.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/utils/collectives/reduction_kind.h"
#include "xla/layout_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/util.h"
#include "xla/window_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

constexpr int64_t kBlock = 16;

// Running results of `input` along a dimension, from its end if reverse.
struct Running {
  HloInstruction* input;
  const HloInstruction* sum;  // In the function that is applied.
  int64_t dimension;
  bool reverse;
  ReductionKind kind;
};

bool IsIdentity(const HloInstruction& init, ReductionKind kind) {
  const HloInstruction* value =
      init.opcode() == HloOpcode::kBroadcast ? init.operand(0) : &init;
  if (!value->IsConstant() || !ShapeUtil::IsScalar(value->shape())) {
    return false;
  }
  const std::optional<Literal> identity =
      GetReductionIdentity(kind, value->shape().element_type());
  return identity.has_value() && value->literal() == *identity;
}

// A window as long as the dimension, padded on one side by all but one element,
// sees exactly the elements up to (or from) its own. The init value must be the
// identity of the reduction, as the rewritten form combines it with elements
// more often than the original: once per level, and as padding of the last
// block.
std::optional<Running> OfWindow(HloInstruction* inst) {
  if (inst->operand_count() != 2) return std::nullopt;
  std::optional<int64_t> dimension;
  for (int d = 0; d < inst->window().dimensions_size(); ++d) {
    if (window_util::IsTrivialWindowDimension(inst->window().dimensions(d))) {
      continue;
    }
    if (dimension.has_value()) return std::nullopt;
    dimension = d;
  }
  const std::optional<ReductionKind> kind =
      MatchReductionComputation(inst->to_apply());
  if (!dimension.has_value() || !kind.has_value() ||
      !IsIdentity(*inst->operand(1), *kind)) {
    return std::nullopt;
  }
  const WindowDimension& window = inst->window().dimensions(*dimension);
  const int64_t size = inst->operand(0)->shape().dimensions(*dimension);
  const bool forward =
      window.padding_low() == size - 1 && window.padding_high() == 0;
  const bool reverse =
      window.padding_low() == 0 && window.padding_high() == size - 1;
  if (window.size() != size || window.stride() != 1 ||
      window.base_dilation() != 1 || window.window_dilation() != 1 ||
      (!forward && !reverse)) {
    return std::nullopt;
  }
  return Running{inst->mutable_operand(0), inst->to_apply()->root_instruction(),
                 *dimension, reverse, *kind};
}

std::optional<Running> OfScan(HloInstruction* inst) {
  const auto* scan = Cast<HloScanInstruction>(inst);
  const HloInstruction* root = inst->to_apply()->root_instruction();
  if (scan->is_associative() != TRI_STATE_TRUE || scan->num_carries() != 1 ||
      inst->operand_count() != 2 || root->opcode() != HloOpcode::kTuple ||
      root->operand_count() != 2 || root->operand(0) != root->operand(1)) {
    return std::nullopt;
  }
  const HloInstruction* sum = root->operand(0);
  if (sum->operand_count() != 2 || sum->operand(0) == sum->operand(1) ||
      !absl::c_all_of(sum->operands(),
                      HloPredicateIsOp<HloOpcode::kParameter>)) {
    return std::nullopt;
  }
  const std::optional<ReductionKind> kind = MatchReductionInstruction(sum);
  if (!kind.has_value() || !IsIdentity(*inst->operand(1), *kind)) {
    return std::nullopt;
  }
  return Running{inst->mutable_operand(0), sum, scan->scan_dimension(),
                 scan->is_reverse(), *kind};
}

bool HasDefaultLayout(const Shape& shape) {
  return shape.has_layout() &&
         shape.layout() == LayoutUtil::GetDefaultLayoutForShape(shape);
}

std::optional<Running> Match(HloInstruction* inst) {
  std::optional<Running> running;
  if (inst->HasControlDependencies()) return std::nullopt;
  if (inst->opcode() == HloOpcode::kReduceWindow) running = OfWindow(inst);
  if (inst->opcode() == HloOpcode::kScan) running = OfScan(inst);
  if (!running.has_value()) return std::nullopt;
  const Shape& shape = running->input->shape();
  const Shape& result =
      inst->shape().IsTuple() ? inst->shape().tuple_shapes(0) : inst->shape();
  const Shape& last = inst->shape().IsTuple()
                          ? inst->shape().tuple_shapes().back()
                          : inst->shape();
  if (shape.is_dynamic() || inst->shape().is_dynamic() ||
      shape.dimensions(running->dimension) <= kBlock ||
      ShapeUtil::IsZeroElementArray(shape) ||
      // Sums may be of another type than what they are of, or computed in one.
      !ShapeUtil::SameElementType(shape, result) ||
      !ShapeUtil::SameElementType(shape, last) ||
      !ShapeUtil::SameElementType(shape, running->sum->shape()) ||
      !ShapeUtil::SameElementType(shape, inst->operand(1)->shape()) ||
      !HasDefaultLayout(shape) || !HasDefaultLayout(result)) {
    return std::nullopt;
  }
  return running;
}

// Builds what replaces an instruction.
class Builder {
 public:
  Builder(HloInstruction* original, const Running& running)
      : original_(original),
        computation_(original->parent()),
        reverse_(running.reverse),
        opcode_(ReductionKindToOpcode(running.kind,
                                      running.input->shape().element_type())) {
    const PrimitiveType type = running.input->shape().element_type();
    identity_ = Add(HloInstruction::CreateConstant(
        GetReductionIdentity(running.kind, type)->Clone()));
    reducer_ = original->GetModule()->AddEmbeddedComputation(
        MakeReductionComputation(running.kind, type));
    reducer_->SetExecutionThread(computation_->execution_thread());
  }

  // A blocked prefix scan (Blelloch, Prefix Sums and Their Applications, 1990):
  // scan within blocks, scan the totals of blocks, and combine each block with
  // all that lies before it. n elements cost about 16 n applications at the
  // first level and a sixteenth of that at each further one, instead of the n²
  // of windows as long as the dimension. Padding is at the end in either
  // direction, where it changes no total, since it is the identity.
  HloInstruction* RunningResults(HloInstruction* input, int64_t d) {
    const int64_t size = input->shape().dimensions(d);
    if (size <= kBlock) return Windows(input, d, size, size - 1);
    const int64_t blocks = CeilOfRatio(size, kBlock);
    Shape split = Padded(input->shape(), d, blocks * kBlock - size);
    const Shape whole = split;
    std::vector<int64_t> dimensions(split.dimensions().begin(),
                                    split.dimensions().end());
    dimensions[d] = blocks;
    dimensions.insert(dimensions.begin() + d + 1, kBlock);
    split = ShapeUtil::MakeShape(whole.element_type(), dimensions);
    HloInstruction* within =
        Windows(Reshape(split, Pad(input, d, 0, blocks * kBlock - size)), d + 1,
                kBlock, kBlock - 1);
    dimensions.erase(dimensions.begin() + d + 1);
    HloInstruction* totals =
        Reshape(ShapeUtil::MakeShape(whole.element_type(), dimensions),
                Slice(within, d + 1, reverse_ ? 0 : kBlock - 1, 1));
    std::vector<int64_t> kept;
    for (int64_t i = 0; i <= static_cast<int64_t>(dimensions.size()); ++i) {
      if (i != d + 1) kept.push_back(i);
    }
    HloInstruction* before = Add(
        HloInstruction::CreateBroadcast(split, ResultsBefore(totals, d), kept));
    HloInstruction* sum =
        Add(HloInstruction::CreateBinary(split, opcode_, before, within));
    return Slice(Reshape(whole, sum), d, 0, size);
  }

  HloInstruction* Slice(HloInstruction* input, int64_t d, int64_t start,
                        int64_t size) {
    if (input->shape().dimensions(d) == size) return input;
    Shape shape = input->shape();
    std::vector<int64_t> starts(shape.dimensions().size(), 0);
    std::vector<int64_t> limits(shape.dimensions().begin(),
                                shape.dimensions().end());
    starts[d] = start;
    limits[d] = start + size;
    shape.set_dimensions(d, size);
    return Add(HloInstruction::CreateSlice(
        shape, input, starts, limits, std::vector<int64_t>(limits.size(), 1)));
  }

  HloInstruction* Reshape(const Shape& shape, HloInstruction* input) {
    return Add(HloInstruction::CreateReshape(shape, input));
  }

 private:
  HloInstruction* Add(std::unique_ptr<HloInstruction> instruction) {
    return computation_->AddInstruction(std::move(instruction),
                                        &original_->metadata());
  }

  static Shape Padded(Shape shape, int64_t d, int64_t by) {
    shape.set_dimensions(d, shape.dimensions(d) + by);
    return shape;
  }

  HloInstruction* Pad(HloInstruction* input, int64_t d, int64_t low,
                      int64_t high) {
    if (low + high == 0) return input;
    PaddingConfig padding =
        MakeNoPaddingConfig(input->shape().dimensions().size());
    padding.mutable_dimensions(d)->set_edge_padding_low(low);
    padding.mutable_dimensions(d)->set_edge_padding_high(high);
    return Add(HloInstruction::CreatePad(Padded(input->shape(), d, low + high),
                                         input, identity_, padding));
  }

  // Windows of `size` elements that reach `padding` beyond the first ones.
  HloInstruction* Windows(HloInstruction* input, int64_t d, int64_t size,
                          int64_t padding) {
    Window window = window_util::MakeWindow(
        std::vector<int64_t>(input->shape().dimensions().size(), 1));
    WindowDimension& along = *window.mutable_dimensions(static_cast<int>(d));
    along.set_size(size);
    if (reverse_) {
      along.set_padding_high(padding);
    } else {
      along.set_padding_low(padding);
    }
    return Add(HloInstruction::CreateReduceWindow(
        Padded(input->shape(), d, padding - size + 1), input, identity_, window,
        reducer_));
  }

  // The running result before each element, the identity for the first.
  //
  // An exclusive scan is the inclusive one moved by one element: a short input
  // gets windows that reach one element further, whose first covers padding
  // only; a long result is padded in front. The total of everything, now at the
  // far end, is cut off.
  HloInstruction* ResultsBefore(HloInstruction* input, int64_t d) {
    const int64_t size = input->shape().dimensions(d);
    HloInstruction* longer =
        size <= kBlock ? Windows(input, d, size, size)
                       : Pad(RunningResults(input, d), d, !reverse_, reverse_);
    return Slice(longer, d, reverse_, size);
  }

  HloInstruction* original_;
  HloComputation* computation_;
  bool reverse_;
  HloOpcode opcode_;
  HloInstruction* identity_;
  HloComputation* reducer_;
};

}  // namespace

bool ReduceWindowRewriter::InstructionMatchesPattern(
    HloInstruction* instruction) {
  return Match(instruction).has_value();
}

absl::StatusOr<HloInstruction*> ReduceWindowRewriter::ExpandInstruction(
    HloInstruction* instruction) {
  const std::optional<Running> running = Match(instruction);
  if (!running.has_value()) return nullptr;
  Builder builder(instruction, *running);
  HloInstruction* results =
      builder.RunningResults(running->input, running->dimension);
  if (instruction->opcode() == HloOpcode::kReduceWindow) return results;
  const int64_t d = running->dimension;
  HloInstruction* carry = builder.Reshape(
      instruction->shape().tuple_shapes(1),
      builder.Slice(results, d,
                    running->reverse ? 0 : results->shape().dimensions(d) - 1,
                    1));
  return instruction->parent()->AddInstruction(
      HloInstruction::CreateTuple({results, carry}));
}

}  // namespace xla
