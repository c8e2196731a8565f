#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_original_value.h"
#include "xla/hlo/verifier/invariant.h"
#include "xla/hlo/verifier/rules.h"
#include "xla/layout.h"
#include "xla/layout_util.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla::verifier {
namespace {

// Arrays of more elements are looked at closely.
constexpr uint64_t kMaxElements = (uint64_t{1} << 31) - 1;

// True for arrays that are valid at a glance: bounded sizes, and no layout or
// one that is an order of the dimensions and nothing else.
bool IsPlainValid(const Shape& shape) {
  if (!IsPlainArray(shape) ||
      !primitive_util::IsArrayType(shape.element_type())) {
    return false;
  }
  uint64_t elements = 1;
  for (int64_t size : shape.dimensions()) {
    // Negative sizes are great ones; two factors below 2^31 do not overflow.
    if (static_cast<uint64_t>(size) > kMaxElements) return false;
    elements *= static_cast<uint64_t>(size);
    if (elements > kMaxElements) return false;
  }
  if (!shape.has_layout()) return true;
  const Layout& layout = shape.layout();
  if (!layout.is_plain()) return false;
  const int64_t rank = RankOf(shape);
  if (layout.minor_to_major_size() != rank) return false;
  DimSet dims;
  for (int64_t dim : layout.minor_to_major()) {
    if (!dims.Add(dim, rank)) return false;
  }
  return true;
}

absl::Status CheckShape(const Context& context, const HloInstruction& inst) {
  const Shape& shape = inst.shape();
  absl::Status status = ShapeUtil::ValidateShapeWithOptionalLayout(shape);
  if (!status.ok()) return Broken(Invariant::V40, inst, status.message());
  const HloVerifierOpts& opts = context.opts();
  if (shape.is_unbounded_dynamic() &&
      !(opts.supported_unbounded_dynamic_op &&
        opts.supported_unbounded_dynamic_op(&inst))) {
    return Broken(Invariant::V44, inst,
                  absl::StrCat("found ", ShapeUtil::HumanString(shape)));
  }
  return absl::OkStatus();
}

// 0 says nothing; pred may be packed into bits.
bool ElementSizeFits(PrimitiveType type, int64_t bits) {
  return bits == 0 || bits == primitive_util::BitWidth(type) ||
         (type == PRED && (bits == 8 || bits == 32)) ||
         (primitive_util::IsSubByteNonPredType(type) && bits == 8);
}

absl::Status CheckLayouts(const Context& context, const HloInstruction& inst) {
  const Shape& shape = inst.shape();
  absl::Status status = ShapeUtil::ForEachLeafShapeWithStatus(
      shape, [&](const Shape& leaf, const ShapeIndex& index) -> absl::Status {
        if (!leaf.IsArray()) return absl::OkStatus();
        if (!leaf.has_layout()) {
          return Broken(Invariant::V41, inst,
                        absl::StrCat("no layout at ", index.ToString()));
        }
        if (leaf.layout().is_plain()) return absl::OkStatus();
        const int64_t bits = leaf.layout().element_size_in_bits();
        if (!ElementSizeFits(leaf.element_type(), bits)) {
          return Broken(
              Invariant::V45, inst,
              absl::StrCat(bits, " bits for elements of ", context.Str(leaf)));
        }
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  if (!IsPlainArray(shape) ||
      context.opts().InstructionCanChangeLayout(&inst)) {
    return absl::OkStatus();
  }
  for (const HloInstruction* operand : inst.operands()) {
    const Shape& from = operand->shape();
    if (IsPlainArray(from) && from.has_layout() &&
        RankOf(from) == RankOf(shape) &&
        from.layout().minor_to_major() != shape.layout().minor_to_major()) {
      return Broken(Invariant::V42, inst,
                    absl::StrCat("expected the layout of ", context.Str(from),
                                 ", found ", context.Str(shape)));
    }
  }
  return absl::OkStatus();
}

bool IsInHostMemory(const Shape& shape) {
  return shape.has_layout() &&
         shape.layout().memory_space() == Layout::kHostMemorySpace;
}

// Opcodes that move data between memories, or whose computations do.
bool MovesBetweenMemories(HloOpcode opcode) {
  return HloOpcodeIsOneOf<
      HloOpcode::kAsyncDone, HloOpcode::kBitcast, HloOpcode::kCall,
      HloOpcode::kConditional, HloOpcode::kCopy, HloOpcode::kCustomCall,
      HloOpcode::kDynamicSlice, HloOpcode::kDynamicUpdateSlice,
      HloOpcode::kFusion, HloOpcode::kWhile>(opcode);
}

// Checks an operand and a result, one in host memory and the other in device
// memory.
absl::Status CheckMemoryChange(const Context& context,
                               const HloInstruction& inst, const Shape& from) {
  const Shape& to = inst.shape();
  if (!MovesBetweenMemories(inst.opcode())) {
    return Broken(
        Invariant::V47, inst,
        absl::StrCat("it takes ", context.Str(from), " to ", context.Str(to)));
  }
  if (inst.opcode() != HloOpcode::kCopy ||
      (from.element_type() == to.element_type() &&
       from.layout().minor_to_major() == to.layout().minor_to_major())) {
    return absl::OkStatus();
  }
  return Broken(
      Invariant::V47, inst,
      absl::StrCat("expected the type and the order of dimensions of ",
                   context.Str(from), ", found ", context.Str(to)));
}

// Scalars go anywhere.
absl::Status CheckMemories(const Context& context, const HloInstruction& inst) {
  const Shape& shape = inst.shape();
  if (!IsPlainArray(shape) || !shape.has_layout()) return absl::OkStatus();
  for (const HloInstruction* operand : inst.operands()) {
    const Shape& from = operand->shape();
    if (!IsPlainArray(from) || !from.has_layout() || RankOf(from) == 0 ||
        IsInHostMemory(from) == IsInHostMemory(shape)) {
      continue;
    }
    absl::Status status = CheckMemoryChange(context, inst, from);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status CheckHostMemory(const HloInstruction& inst) {
  return ShapeUtil::ForEachLeafShapeWithStatus(
      inst.shape(),
      [&](const Shape& leaf, const ShapeIndex& index) -> absl::Status {
        if (leaf.IsArray() && leaf.has_layout() &&
            leaf.layout().memory_space() == Layout::kHostMemorySpace) {
          return Broken(
              Invariant::V43, inst,
              absl::StrCat("found ", ShapeUtil::HumanStringWithLayout(leaf),
                           " at ", index.ToString()));
        }
        return absl::OkStatus();
      });
}

// Opcodes that compute with several operands of one type.
bool ComputesInOneType(HloOpcode opcode) {
  return HloOpcodeIsOneOf<
             HloOpcode::kBatchNormGrad, HloOpcode::kBatchNormInference,
             HloOpcode::kBatchNormTraining, HloOpcode::kClamp,
             HloOpcode::kConcatenate, HloOpcode::kDynamicUpdateSlice,
             HloOpcode::kPad, HloOpcode::kSelect, HloOpcode::kSelectAndScatter,
             HloOpcode::kTriangularSolve>(opcode) ||
         HloOpcodeIsElementwiseBinary(opcode);
}

absl::Status CheckPrecision(const HloInstruction& inst) {
  if (inst.operand_count() < 2 || !ComputesInOneType(inst.opcode())) {
    return absl::OkStatus();
  }
  const HloInstruction* first = nullptr;
  for (const HloInstruction* operand : inst.operands()) {
    if (!operand->shape().IsArray() ||
        !ShapeUtil::ElementIsFloating(operand->shape())) {
      continue;
    }
    if (first == nullptr) first = operand;
    if (operand->shape().element_type() != first->shape().element_type()) {
      return Broken(
          Invariant::V46, inst,
          absl::StrCat("expected ", first->name(), " and ", operand->name(),
                       " to have one, found ",
                       ShapeUtil::HumanString(first->shape()), " and ",
                       ShapeUtil::HumanString(operand->shape())));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckAnnotations(const HloInstruction& inst) {
  if (inst.has_result_accuracy()) {
    if (!IsUnaryOpWithResultAccuracy(inst.opcode())) {
      return Broken(Invariant::V60, inst, "the opcode has none");
    }
    if (!IsValidResultAccuracy(inst.result_accuracy())) {
      return Broken(
          Invariant::V60, inst,
          ResultAccuracyToleranceToString(inst.result_accuracy().tolerance()));
    }
  }
  const std::shared_ptr<OriginalValue> original = inst.original_value();
  if (original != nullptr && !original->IsCompatibleWith(inst.shape())) {
    return Broken(Invariant::V119, inst,
                  absl::StrCat("found ", original->ToString()));
  }
  return absl::OkStatus();
}

// Clones of an instruction keep its scheduling name, and add to its own.
absl::Status CheckSchedulingName(const HloInstruction& inst) {
  const std::string& expected = inst.metadata().scheduling_name();
  if (expected.empty() || inst.name() == expected ||
      absl::StartsWith(inst.name(), absl::StrCat(expected, "."))) {
    return absl::OkStatus();
  }
  return Broken(Invariant::V23, inst,
                absl::StrCat("expected ", expected, ", found ", inst.name()));
}

}  // namespace

absl::Status CheckCommonRules(const Context& context,
                              const HloInstruction& inst) {
  const HloVerifierOpts& opts = context.opts();
  absl::Status status;
  if (!IsPlainValid(inst.shape())) {
    status = CheckShape(context, inst);
    if (!status.ok()) return status;
  }
  if (opts.layout_sensitive) {
    status = CheckLayouts(context, inst);
    if (!status.ok()) return status;
    status = CheckMemories(context, inst);
    if (!status.ok()) return status;
  }
  if (!opts.allow_mixed_precision) {
    status = CheckPrecision(inst);
    if (!status.ok()) return status;
  }
  if (opts.verify_no_host_memory_space) {
    status = CheckHostMemory(inst);
    if (!status.ok()) return status;
  }
  if (opts.verify_instruction_name_unchanged) {
    status = CheckSchedulingName(inst);
    if (!status.ok()) return status;
  }
  if (inst.has_sharding()) {
    status = CheckSharding(context, inst);
    if (!status.ok()) return status;
  }
  return CheckAnnotations(inst);
}

}  // namespace xla::verifier
