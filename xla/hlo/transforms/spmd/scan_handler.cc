#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"
#include "xla/hlo/utils/hlo_sharding_util.h"
#include "xla/shape_util.h"

// Scans. Along other dimensions than the scanned one, shards are scanned where
// they are. A scan whose own dimension is cut is computed in two levels
// (reduce-then-scan; Blelloch, "Prefix Sums and Their Applications", 1990) if
// its step is associative and its outputs are the carries: each device computes
// the total of its shard, the totals are gathered and scanned everywhere, which
// gives each device the carry to start from, and then every device scans its
// shard. Otherwise the tiles are moved to other dimensions, along which a scan
// is local.
//
// No neutral element is known, so the total of a shard starts from its first
// slice, which takes slices for carries. Shards have to be even: padding would
// be part of the totals.

namespace xla::spmd {
namespace {

struct Scan {
  const HloScanInstruction* hlo;
  int64_t dim;
  int64_t count;  // inputs, and outputs, which are shaped alike
};

// Nullopt where outputs are not shaped as inputs, or carries not as slices.
std::optional<Scan> RegularScan(const HloInstruction* hlo) {
  const auto* scan = Cast<HloScanInstruction>(hlo);
  const int64_t count = scan->inputs().size();
  if (!hlo->shape().IsTuple() || count == 0 ||
      hlo->shape().tuple_shapes().size() != count + scan->num_carries()) {
    return std::nullopt;
  }
  const int64_t rank = scan->inputs()[0]->shape().dimensions().size();
  for (int64_t i = 0; i < count; ++i) {
    if (!ShapeUtil::SameDimensions(hlo->shape().tuple_shapes(i),
                                   scan->inputs()[0]->shape()) ||
        !ShapeUtil::SameDimensions(scan->inputs()[i]->shape(),
                                   scan->inputs()[0]->shape())) {
      return std::nullopt;
    }
  }
  for (const HloInstruction* init : scan->inits()) {
    if (!init->shape().IsArray() ||
        init->shape().dimensions().size() != rank - 1) {
      return std::nullopt;
    }
  }
  return Scan{scan, scan->scan_dimension(), count};
}

// The step in the shapes of shards: elementwise instructions, scalars and their
// broadcasts. Null where there are others.
HloComputation* StepOfShards(HloComputation* step, const HloSharding& sharding,
                             HloModule* module) {
  if (!sharding.IsTiledLeaf() || sharding.NumTiles() == 1) return step;
  absl::flat_hash_map<const HloInstruction*, HloInstruction*> clones;
  HloComputation::Builder builder("scan_step");
  const HloInstruction* root = step->root_instruction();
  for (const HloInstruction* hlo : step->MakeInstructionPostOrder()) {
    const bool scalar = ShapeUtil::IsScalar(hlo->shape());
    const bool known = hlo->IsElementwise() ||
                       hlo->opcode() == HloOpcode::kParameter ||
                       (hlo->opcode() == HloOpcode::kConstant && scalar) ||
                       (hlo->opcode() == HloOpcode::kBroadcast &&
                        ShapeUtil::IsScalar(hlo->operand(0)->shape())) ||
                       (hlo->opcode() == HloOpcode::kTuple && hlo == root);
    if (!known || !hlo->called_computations().empty()) return nullptr;
    Shape shape = hlo->shape();
    if (hlo == root) {
      std::vector<Shape> shapes;
      for (const HloInstruction* operand : hlo->operands()) {
        shapes.push_back(clones.at(operand)->shape());
      }
      shape = ShapeUtil::MakeTupleShape(shapes);
    } else if (!scalar) {
      shape = MakePartitionedShape(shape, sharding);
    }
    std::vector<HloInstruction*> operands;
    for (const HloInstruction* operand : hlo->operands()) {
      operands.push_back(clones.at(operand));
    }
    clones[hlo] = builder.AddInstruction(
        hlo->opcode() == HloOpcode::kParameter
            ? HloInstruction::CreateParameter(hlo->parameter_number(), shape,
                                              hlo->name())
            : hlo->CloneWithNewOperands(shape, operands));
  }
  return module->AddEmbeddedComputation(builder.Build(clones.at(root)));
}

// Outputs and carries of inputs of any length.
HloInstruction* AddScan(const Scan& scan,
                        absl::Span<HloInstruction* const> inputs,
                        absl::Span<HloInstruction* const> inits,
                        HloComputation* step, SpmdBuilder* b) {
  std::vector<Shape> shapes;
  for (int64_t i = 0; i < scan.count; ++i) {
    shapes.push_back(ShapeUtil::ChangeElementType(
        inputs[0]->shape(), scan.hlo->shape().tuple_shapes(i).element_type()));
  }
  for (const HloInstruction* init : inits) shapes.push_back(init->shape());
  return b->AddInstruction(HloInstruction::CreateScan(
      ShapeUtil::MakeTupleShape(shapes), inputs, inits, step, scan.dim,
      scan.hlo->is_reverse(), scan.hlo->is_associative()));
}

HloInstruction* Element(HloInstruction* tuple, int64_t i, SpmdBuilder* b) {
  return b->AddInstruction(HloInstruction::CreateGetTupleElement(
      tuple->shape().tuple_shapes(i), tuple, i));
}

// One element along `dim`, without the dimension.
HloInstruction* SliceAt(HloInstruction* x, int64_t dim, HloInstruction* index,
                        SpmdBuilder* b) {
  Shape shape = x->shape();
  shape.set_dimensions(dim, 1);
  std::vector<HloInstruction*> starts(shape.dimensions().size(),
                                      CreateR0(0, S32, b));
  starts[dim] = index;
  HloInstruction* slice = b->AddInstruction(
      HloInstruction::CreateDynamicSlice(shape, x, starts, shape.dimensions()));
  shape.DeleteDimension(dim);
  return AddReshape(slice, shape.dimensions(), b);
}

// Each output of the step is the carry of the same number, and slices of the
// inputs may stand for carries.
bool OutputsAreCarries(const Scan& scan) {
  const HloInstruction* root = scan.hlo->to_apply()->root_instruction();
  if (root->opcode() != HloOpcode::kTuple ||
      scan.hlo->num_carries() != scan.count) {
    return false;
  }
  for (int64_t i = 0; i < scan.count; ++i) {
    if (root->operand(i) != root->operand(scan.count + i) ||
        scan.hlo->inputs()[i]->shape().element_type() !=
            scan.hlo->inits()[i]->shape().element_type()) {
      return false;
    }
  }
  return true;
}

// The carries with which each device begins, and the last ones, of shards that
// are cut along the scanned dimension.
struct Carries {
  std::vector<HloInstruction*> first, last;
};
// Initial values would enter the totals once for each device, and need not be
// neutral. Each slice is read twice, and one slice per device is communicated.
Carries CarriesOfShards(const Scan& scan,
                        absl::Span<HloInstruction* const> inputs,
                        absl::Span<HloInstruction* const> inits,
                        const HloSharding& sharding, HloComputation* step,
                        const PartitionedHlo::PartitioningState& state) {
  SpmdBuilder* b = state.b;
  const bool reverse = scan.hlo->is_reverse();
  const int64_t length = inputs[0]->shape().dimensions(scan.dim);
  const int64_t shards = ShardCountAtDim(sharding, scan.dim);
  // The total: a scan of all other slices that begins with the first.
  std::vector<HloInstruction*> seeds, rest;
  for (HloInstruction* input : inputs) {
    seeds.push_back(SliceAt(input, scan.dim,
                            CreateR0(reverse ? length - 1 : 0, S32, b), b));
    rest.push_back(SliceDim(input, scan.dim, reverse ? 0 : 1,
                            reverse ? length - 1 : length, b));
  }
  if (length > 1) {
    HloInstruction* totals = AddScan(scan, rest, seeds, step, b);
    for (int64_t i = 0; i < scan.count; ++i) {
      seeds[i] = Element(totals, scan.count + i, b);
    }
  }
  std::vector<HloInstruction*> stacks;
  for (HloInstruction* total : seeds) {
    Shape one = inputs[0]->shape();
    one.set_dimensions(scan.dim, 1);
    stacks.push_back(state.partitioner->AllGatherShards(
        b, AddReshape(total, one.dimensions(), b), sharding,
        state.next_channel_id, {scan.dim}, state.collective_ops_creator));
  }
  HloInstruction* all = AddScan(scan, stacks, inits, step, b);
  const std::vector<int64_t> ordinals = OrdinalTable(sharding, scan.dim);
  std::vector<int64_t> before, is_first;
  for (int64_t ordinal : ordinals) {
    const int64_t at = reverse ? ordinal + 1 : ordinal - 1;
    is_first.push_back(at < 0 || at == shards);
    before.push_back(is_first.back() ? 0 : at);
  }
  HloInstruction* index = TableLookup(before, S32, state.partition_id, b);
  HloInstruction* first =
      AddCompare(TableLookup(is_first, S32, state.partition_id, b),
                 ComparisonDirection::kEq, CreateR0(1, S32, b), b);
  Carries carries;
  for (int64_t i = 0; i < scan.count; ++i) {
    carries.first.push_back(
        AddSelect(first, {}, inits[i],
                  SliceAt(Element(all, i, b), scan.dim, index, b), b));
    carries.last.push_back(Element(all, scan.count + i, b));
  }
  return carries;
}

}  // namespace

absl::Status SpmdPartitioningVisitor::HandleScan(HloInstruction* hlo) {
  const std::optional<Scan> scan = RegularScan(hlo);
  if (!scan.has_value()) return DefaultAction(hlo);
  HloSharding sharding = hlo->sharding().GetSubSharding(hlo->shape(), {0});
  for (const HloInstruction* input : scan->hlo->inputs()) {
    if (sharding.IsTiledLeaf() && sharding.NumTiles() > 1) break;
    sharding = GetPartitionedHlo(input).sharding();
  }
  const Shape& whole = hlo->operand(0)->shape();
  const bool by_totals =
      ShardCountAtDim(sharding, scan->dim) > 1 &&
      scan->hlo->is_associative() == TRI_STATE_TRUE &&
      OutputsAreCarries(*scan) && whole.dimensions(scan->dim) > 0 &&
      whole.dimensions(scan->dim) % ShardCountAtDim(sharding, scan->dim) == 0;
  if (!by_totals) sharding = MoveTilesOff(whole, sharding, {scan->dim});
  if (!sharding.IsTiledLeaf() || sharding.NumTiles() == 1) {
    return DefaultAction(hlo);
  }
  const HloSharding carried = hlo_sharding_util::RemoveShapeDimensions(
      ReplicatedOnDims(sharding, {scan->dim}), {scan->dim});
  HloComputation* step = StepOfShards(hlo->to_apply(), carried, module_);
  if (step == nullptr) return DefaultAction(hlo);
  std::vector<HloInstruction*> inputs, inits;
  for (int64_t i = 0; i < scan->count; ++i) {
    inputs.push_back(Operand(hlo, i, sharding));
  }
  for (int64_t i = scan->count; i < hlo->operand_count(); ++i) {
    inits.push_back(Operand(hlo, i, carried));
  }
  std::optional<Carries> carries;
  if (by_totals) {
    carries = CarriesOfShards(*scan, inputs, inits, sharding, step,
                              MakePartitioningState());
    inits = carries->first;
  }
  HloInstruction* local = AddScan(*scan, inputs, inits, step, &b_);
  if (carries.has_value()) {
    std::vector<HloInstruction*> elements;
    for (int64_t i = 0; i < scan->count; ++i) {
      elements.push_back(Element(local, i, &b_));
    }
    absl::c_copy(carries->last, std::back_inserter(elements));
    local = b_.AddInstruction(HloInstruction::CreateTuple(elements));
  }
  std::vector<HloSharding> shardings(scan->count, sharding);
  shardings.resize(hlo->shape().tuple_shapes().size(), carried);
  Finish(hlo, local, HloSharding::Tuple(hlo->shape(), shardings));
  return absl::OkStatus();
}

}  // namespace xla::spmd
