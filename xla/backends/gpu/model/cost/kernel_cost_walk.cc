#include "xla/backends/gpu/model/cost/kernel_cost_walk.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "xla/backends/gpu/model/cost/coalescing_analysis.h"
#include "xla/backends/gpu/model/cost/instruction_flops.h"
#include "xla/backends/gpu/model/fusion_hero.h"
#include "xla/backends/gpu/model/kernel_target.h"
#include "xla/backends/gpu/model/reduction_utils.h"
#include "xla/backends/gpu/model/scatter_way.h"
#include "xla/backends/gpu/model/threads_at_once.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_opcode_groups.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

// Derives a kernel's cost by one walk from the outputs to the parameters, in
// reverse post order, so that all reads of a value are known when its own
// operands are visited. Elementwise instructions pass the accesses of their
// result on unchanged; everything else creates new places for its operands.

namespace xla::gpu {
namespace {

int64_t Bytes(const Shape& shape) {
  return ShapeUtil::ByteSizeOfElementsRecursive(shape);
}

double Elements(const Shape& shape) {
  const bool tuple = shape.IsTuple() && !shape.tuple_shapes().empty();
  const Shape& array = tuple ? shape.tuple_shapes(0) : shape;
  return array.IsArray() ? ShapeUtil::ElementsIn(array) : 0;
}

// How often, on average, an element of operand `i` is read to compute the
// result once; less than 1 for slices, more than 1 for broadcasts and windows.
// `in_place`: of an output that is written where operand 0 lies.
double ReadsPerElement(const HloInstruction& hlo, int64_t i, bool in_place) {
  const double operand = std::max(Elements(hlo.operand(i)->shape()), 1.0);
  const double result = Elements(hlo.shape());
  switch (hlo.opcode()) {
    case HloOpcode::kBroadcast:
    case HloOpcode::kSlice:
      return result / operand;
    case HloOpcode::kDynamicSlice:
    case HloOpcode::kGather:
      return i == 0 ? result / operand : 1;
    case HloOpcode::kDynamicUpdateSlice:
      return i == 0 ? 1 - std::min(Elements(hlo.operand(1)->shape()) / operand,
                                   1.0)
                    : 1;
    case HloOpcode::kReduceWindow:
      return i < hlo.operand_count() / 2
                 ? result * WindowElements(hlo.window()) / operand
                 : 1;
    case HloOpcode::kScatter:
      return ScatterReads(hlo, i, in_place);
    default:  // Reads each element once.
      return 1;
  }
}

// The footprint of the threads of one block: elements that lie no further apart
// are near each other.
constexpr int64_t kNearElements = 512;

// Elements between neighbors along a dimension in memory.
int64_t StrideOf(const Shape& shape, int64_t dimension) {
  int64_t stride = 1;
  for (int64_t d : shape.layout().minor_to_major()) {
    if (d == dimension) return stride;
    stride *= shape.dimensions(d);
  }
  return stride;
}

// The distance in memory, in elements, between the result's place and where a
// slice or pad reads for it; nullopt for other instructions. Small shifts of
// the same value form a stencil whose reads are served by nearby caches.
std::optional<int64_t> ShiftOf(const HloInstruction& hlo) {
  if (hlo.opcode() != HloOpcode::kSlice && hlo.opcode() != HloOpcode::kPad) {
    return std::nullopt;
  }
  const Shape& shape = hlo.operand(0)->shape();
  if (!shape.has_layout()) return std::nullopt;
  int64_t shift = 0;
  for (int64_t d = 0; d < shape.dimensions_size(); ++d) {
    const int64_t by =
        hlo.opcode() == HloOpcode::kSlice
            ? hlo.slice_starts(d)
            : std::abs(hlo.padding_config().dimensions(d).edge_padding_low());
    if (by != 0) shift += by * StrideOf(shape, d);
  }
  return shift;
}

// Neighbors in the result are neighbors in the operand.
bool KeepsNeighbors(const HloInstruction& hlo) {
  for (int64_t d = 0; d < hlo.shape().dimensions_size(); ++d) {
    if (hlo.opcode() == HloOpcode::kSlice
            ? hlo.slice_strides(d) != 1
            : hlo.padding_config().dimensions(d).interior_padding() != 0) {
      return false;
    }
  }
  return true;
}

bool IsBitcast(const HloInstruction& hlo) {
  return hlo.opcode() == HloOpcode::kBitcast ||
         hlo.opcode() == HloOpcode::kReshape;
}

// Result element i is computed from what lies in the operand's place i.
bool KeepsPlace(const HloInstruction& hlo, int64_t i) {
  if (IsBitcast(hlo)) return hlo.IsEffectiveBitcast();
  // A copy may be of a tuple or a token.
  return hlo.opcode() != HloOpcode::kDynamicUpdateSlice &&
         hlo.opcode() != HloOpcode::kFusion && hlo.IsElementwiseOnOperand(i) &&
         hlo.shape().IsArray() && hlo.operand(i)->shape().IsArray() &&
         ShapeUtil::SameDimensions(hlo.operand(i)->shape(), hlo.shape());
}

// What may put neighbors in the result apart in the operand, as XLA takes it.
bool IsTransposing(const HloInstruction& hlo) {
  return IsBitcast(hlo) || hlo.opcode() == HloOpcode::kTranspose ||
         hlo.opcode() == HloOpcode::kCopy;
}

const HloInstruction* SkipBitcasts(const HloInstruction* value) {
  while (value->opcode() == HloOpcode::kBitcast) value = value->operand(0);
  return value;
}

// An output that is written where operand 0, which comes from outside of the
// fusion, lies.
bool IsUpdateInPlace(const HloInstruction& output, KernelTarget target) {
  if (output.opcode() == HloOpcode::kScatter) {
    if (WayOfScatter(output, target) == ScatterWay::kSearch) return false;
  } else if (output.opcode() != HloOpcode::kDynamicUpdateSlice ||
             IsWrittenWhole(output.shape())) {
    return false;
  }
  if (!output.IsFused()) return true;
  return SkipBitcasts(output.operand(0))->opcode() == HloOpcode::kParameter;
}

double IrSize(const HloInstruction& hlo) {
  switch (hlo.opcode()) {
    case HloOpcode::kParameter:
    case HloOpcode::kConstant:
    case HloOpcode::kTuple:
    case HloOpcode::kGetTupleElement:
      return 0;
    default:  // One operation and what it calls.
      break;
  }
  double size = 1;
  for (const HloComputation* callee : hlo.called_computations()) {
    size += callee->instruction_count() - callee->num_parameters();
  }
  return size;
}

// What runs an instruction that is no fusion.
enum class Runner { kNothing, kLibrary, kGeneratedKernel };

Runner RunnerOf(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kBitcast:
    case HloOpcode::kConstant:
    case HloOpcode::kCopyDone:
    case HloOpcode::kGetDimensionSize:
    case HloOpcode::kGetTupleElement:
    case HloOpcode::kParameter:
    case HloOpcode::kRecvDone:
    case HloOpcode::kSendDone:
    case HloOpcode::kSetDimensionSize:
    case HloOpcode::kTuple:
    case XLA_ANY_CONTROL_FLOW:
    case XLA_ANY_ORDERING:
    case XLA_ANY_COLLECTIVE_DONE:
    case XLA_ANY_ASYNC:
    case XLA_ANY_DEVICE_ID:
      return Runner::kNothing;
    case HloOpcode::kCopyStart:
    case HloOpcode::kCustomCall:
    case HloOpcode::kRecv:
    case HloOpcode::kScan:
    case HloOpcode::kSend:
    case HloOpcode::kSort:
    case XLA_ANY_CONTRACTION:
    case XLA_ANY_BATCH_NORM:
    case XLA_ANY_LIBRARY_CALL:
    case XLA_ANY_COLLECTIVE:
    case XLA_ANY_COLLECTIVE_START:
    case XLA_ANY_FEED:
      return Runner::kLibrary;
    case HloOpcode::kCopy:
    case HloOpcode::kDynamicReshape:
    case HloOpcode::kFusion:
    case HloOpcode::kIota:
    case HloOpcode::kMap:
    case HloOpcode::kReduce:
    case HloOpcode::kReduceWindow:
    case HloOpcode::kSelectAndScatter:
    case XLA_ANY_ELEMENTWISE:
    case XLA_ANY_REARRANGEMENT:
    case XLA_ANY_INDEXED:
    case XLA_ANY_RANDOM:
      break;
  }
  return Runner::kGeneratedKernel;
}

// A value that the programs of a custom fusion keep, as they keep a row, is
// computed, or read, once for all that read it at its place.
OperandCost ReadsOfKept(const OperandCost& reads, bool is_parameter) {
  ValueAccess kept = reads.accesses[0];
  for (const ValueAccess& access : reads.accesses) {
    kept.utilization = std::max(kept.utilization, access.utilization);
    kept.coalesced |= access.coalesced;
    kept.nested_coalesced |= access.nested_coalesced;
  }
  if (!is_parameter) kept.utilization = std::min(kept.utilization, 1.0);
  kept.copies = 1;
  OperandCost result = reads;
  result.accesses = {kept};
  return result;
}

}  // namespace

bool IsFreeOfCost(const HloInstruction& instruction) {
  if (HloPredicateIsOp<HloOpcode::kReshape, HloOpcode::kTranspose>(
          &instruction)) {
    return instruction.IsEffectiveBitcast();
  }
  return RunnerOf(instruction.opcode()) == Runner::kNothing;
}

bool IsLibraryKernel(const HloInstruction& instruction) {
  if (instruction.opcode() == HloOpcode::kFusion) {
    return instruction.IsCustomFusion();
  }
  return RunnerOf(instruction.opcode()) == Runner::kLibrary;
}

// Heroes define the loop of their kernel: the threads follow the operand's
// memory order instead of the result's.
bool KernelCostWalk::IsHero(const HloInstruction& hlo) const {
  if (hlo.opcode() == HloOpcode::kReduce) {
    return device_ == nullptr ||
           IsReductionFromOrToContiguousDimensions(hlo, *device_);
  }
  return hlo.opcode() == HloOpcode::kTranspose &&
         GetDescriptionForTiledTransposeEmitter(hlo).has_value();
}

void KernelCostWalk::RunOver(const Shape& shape) {
  cost_.iterations = std::max(cost_.iterations, Elements(shape));
}

// In-place updates write the update only, and run over its elements.
void KernelCostWalk::WriteOutput(const HloInstruction& output) {
  const HloInstruction* last = SkipBitcasts(&output);
  if (IsUpdateInPlace(*last, kernels_for_) &&
      last->opcode() == HloOpcode::kScatter) {
    cost_.bytes_written += Bytes(last->operand(2)->shape());
    cost_.iterations = std::max(
        cost_.iterations, static_cast<double>(ScatterThreads(
                              *last, ThreadsAtOnce(device_), kernels_for_)));
    return;
  }
  if (IsUpdateInPlace(*last, kernels_for_)) {
    cost_.bytes_written += Bytes(last->operand(1)->shape());
    RunOver(last->operand(1)->shape());
    return;
  }
  cost_.bytes_written += Bytes(output.shape());
  RunOver(output.shape());
}

void KernelCostWalk::VisitInnerFusion(
    const HloInstruction& fusion, const OperandCost& reads,
    absl::FunctionRef<OperandCost*(int64_t)> slot) {
  const KernelCost& inner = inner_(fusion);
  const double utilization = reads.utilization();
  cost_.flops += utilization * inner.flops;
  cost_.ir_size += reads.copies() * inner.ir_size;
  for (int64_t i = 0; i < fusion.operand_count(); ++i) {
    ValueAccess access;
    access.place = new_place_();
    access.utilization = utilization;
    access.copies = reads.copies();
    if (i < inner.operands.size()) {
      access.utilization *= inner.operands[i].utilization();
      access.copies *= inner.operands[i].copies();
    }
    slot(i)->Add(access);
  }
}

// An access near the center of a stencil, if the shift is small and all reads
// of the value share one center. Strided slices open a center of their own.
std::optional<ValueAccess> KernelCostWalk::ReadOfWindow(
    const HloInstruction& hlo, const OperandCost& reads) {
  const std::optional<int64_t> shift = ShiftOf(hlo);
  if (!shift.has_value() || *shift > kNearElements) return std::nullopt;
  const std::optional<int64_t> center = reads.center();
  if (!center.has_value()) return std::nullopt;
  const bool dense = KeepsNeighbors(hlo);
  const HloInstruction* operand = hlo.operand(0);
  auto place_of = [&](int32_t around, bool is_dense) {
    auto [it, is_new] =
        near_places_.try_emplace({around, operand, is_dense}, 0);
    if (is_new) it->second = new_place_();
    return it->second;
  };
  ValueAccess access;
  access.near = true;
  access.center = dense ? *center : place_of(*center, false);
  access.place = place_of(access.center, true);
  return access;
}

// Charges one instruction for all accesses of its result and adds what it reads
// of each operand. `slot` returns where an operand's accesses are collected;
// null: not at all.
void KernelCostWalk::Visit(const HloInstruction& hlo, const OperandCost& reads,
                           bool is_output,
                           absl::FunctionRef<OperandCost*(int64_t)> slot) {
  if (hlo.opcode() == HloOpcode::kFusion) {
    return VisitInnerFusion(hlo, reads, slot);
  }
  const double utilization = reads.utilization();
  const double copies = reads.copies();
  bool coalesced = true, nested_coalesced = true;
  for (const ValueAccess& read : reads.accesses) {
    coalesced &= read.coalesced;
    nested_coalesced &= read.nested_coalesced;
  }
  const bool in_place = is_output && IsUpdateInPlace(hlo, kernels_for_);
  const bool is_scatter = hlo.opcode() == HloOpcode::kScatter;
  cost_.flops += utilization * flops_->Of(hlo) *
                 (is_scatter ? ScatterRepeats(hlo, in_place) : 1);
  cost_.ir_size += copies * IrSize(hlo);
  const bool hero =
      !reads.accesses.empty() && reads.accesses[0].place == 0 && IsHero(hlo);
  if (hero) {
    cost_.has_hero = true;
    RunOver(hlo.operand(0)->shape());
  }
  for (int64_t i = 0; i < hlo.operand_count(); ++i) {
    const HloInstruction& operand = *hlo.operand(i);
    OperandCost* read = slot(i);
    if (read == nullptr) continue;
    if (i == 0 && in_place && !is_scatter) {
      read->in_place = true;
      read->kept_bytes =
          Bytes(operand.shape()) - Bytes(hlo.operand(1)->shape());
      continue;
    }
    const bool along =
        (prices_ == OperationPrices::kXla && !IsTransposing(hlo)) ||
        IsReadCoalesced(hlo, i);
    if (hlo.opcode() == HloOpcode::kTuple ||
        hlo.opcode() == HloOpcode::kGetTupleElement || KeepsPlace(hlo, i)) {
      // XLA sees no further than bitcasts: what is read through two of them is
      // read twice.
      const bool apart = prices_ == OperationPrices::kXla && IsBitcast(hlo);
      const int32_t bitcast = apart ? new_place_() : 0;
      for (ValueAccess access : reads.accesses) {
        access.coalesced &= along;
        access.nested_coalesced &= along;
        if (apart) {
          access.bitcast = bitcast;
          read->AddUp(access);
        } else {
          read->Add(access);
        }
      }
      continue;
    }
    // XLA knows no windows.
    const std::optional<ValueAccess> window =
        i == 0 && prices_ == OperationPrices::kDevice ? ReadOfWindow(hlo, reads)
                                                      : std::nullopt;
    ValueAccess access = window.value_or(ValueAccess());
    // A value for many elements is the same for all in a window.
    access.utilization =
        (hlo.opcode() == HloOpcode::kBroadcast ? reads.utilization_by_place()
                                               : utilization) *
        ReadsPerElement(hlo, i, in_place);
    // For XLA, an update never reads what it keeps.
    if (prices_ == OperationPrices::kXla && i == 0 &&
        hlo.opcode() == HloOpcode::kDynamicUpdateSlice) {
      access.utilization = 0;
    }
    access.copies = copies;
    if (hero && reads.accesses.size() == 1 &&
        operand.shape().dimensions_size() > 0) {
      // The threads go through the operand in the order of its memory.
      access.coalesced = coalesced;
      access.nested_coalesced = nested_coalesced && along;
    } else {
      if (!window.has_value()) access.place = new_place_();
      access.coalesced = coalesced && along;
      access.nested_coalesced = nested_coalesced && along;
    }
    if (window.has_value()) {
      read->AddUp(access);
    } else {
      read->Add(access);
    }
    if (i == 0 && in_place) {
      read->in_place = true;
      read->kept_bytes = Bytes(operand.shape());
    }
  }
}

KernelCost KernelCostWalk::OfInstruction(const HloInstruction& hlo) {
  cost_ = KernelCost();
  near_places_.clear();
  cost_.is_free = IsFreeOfCost(hlo);
  cost_.is_library = IsLibraryKernel(hlo);
  cost_.operands.resize(hlo.operand_count());
  if (cost_.is_library) {
    cost_.flops = flops_->Of(hlo);
    cost_.iterations = Elements(hlo.shape());
    cost_.bytes_written = Bytes(hlo.shape());
    cost_.ir_size = 1;
    for (OperandCost& operand : cost_.operands) operand.Add(ValueAccess());
    return std::move(cost_);
  }
  OperandCost whole;
  whole.Add(ValueAccess());
  WriteOutput(hlo);
  Visit(hlo, whole, /*is_output=*/true,
        [&](int64_t i) { return &cost_.operands[i]; });
  return std::move(cost_);
}

KernelCost KernelCostWalk::OfFusion(const HloInstruction& fusion) {
  cost_ = KernelCost();
  near_places_.clear();
  cost_.is_library = IsLibraryKernel(fusion);
  const HloComputation* body = fusion.fused_instructions_computation();
  const std::vector<HloInstruction*> order = body->MakeInstructionPostOrder();
  // By local id.
  int32_t slots = 0;
  for (const HloInstruction* hlo : order) {
    slots = std::max(slots, hlo->local_id() + 1);
  }
  std::vector<OperandCost> reads(slots);
  std::vector<bool> is_output(slots, false);
  const HloInstruction* root = body->root_instruction();
  auto add_output = [&](const HloInstruction* output) {
    reads[output->local_id()].Add(ValueAccess());
    is_output[SkipBitcasts(output)->local_id()] = true;
    WriteOutput(*output);
  };
  if (root->opcode() == HloOpcode::kTuple) {
    for (const HloInstruction* output : root->operands()) add_output(output);
  } else {
    add_output(root);
  }
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const HloInstruction& hlo = **it;
    const bool is_parameter = hlo.opcode() == HloOpcode::kParameter;
    if (reads[hlo.local_id()].accesses.empty()) continue;
    if (cost_.is_library) {
      reads[hlo.local_id()] = ReadsOfKept(reads[hlo.local_id()], is_parameter);
    }
    if (is_parameter) continue;
    const OperandCost hlo_reads = reads[hlo.local_id()];
    Visit(hlo, hlo_reads, is_output[hlo.local_id()], [&](int64_t i) {
      const HloInstruction* operand = hlo.operand(i);
      // Bitcasts of what is updated in place read nothing, either.
      if (i == 0 && is_output[hlo.local_id()] &&
          IsUpdateInPlace(hlo, kernels_for_)) {
        operand = SkipBitcasts(operand);
      }
      return &reads[operand->local_id()];
    });
  }
  for (int64_t i = 0; i < fusion.operand_count(); ++i) {
    cost_.operands.push_back(
        std::move(reads[fusion.fused_parameter(i)->local_id()]));
  }
  return std::move(cost_);
}

}  // namespace xla::gpu
