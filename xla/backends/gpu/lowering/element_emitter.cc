#include "xla/backends/gpu/lowering/element_emitter.h"

#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/lowering/loop_lowering.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_opcode_groups.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/xla_data.pb.h"

namespace xla::gpu {
namespace {

using kir::ElementType;
using kir::Operand;

// Operands of operands that are followed: the walk is recursive.
constexpr int kMaxDepth = 1000;

}  // namespace

absl::StatusOr<ElementType> KernelType(PrimitiveType type) {
  switch (type) {
    case PRED:
      return ElementType::kPred;
    case S2:
    case S4:
    case S8:
      return ElementType::kS8;
    case U2:
    case U4:
    case U8:
      return ElementType::kU8;
    case S16:
      return ElementType::kS16;
    case U16:
      return ElementType::kU16;
    case S32:
      return ElementType::kS32;
    case U32:
      return ElementType::kU32;
    case S64:
      return ElementType::kS64;
    case U64:
      return ElementType::kU64;
    case F16:
      return ElementType::kF16;
    case BF16:
      return ElementType::kBF16;
    case F32:
      return ElementType::kF32;
    case F64:
      return ElementType::kF64;
    case F8E4M3FN:
      return ElementType::kF8E4M3FN;
    case F8E5M2:
      return ElementType::kF8E5M2;
    default:
      return absl::UnimplementedError(
          absl::StrCat("elements of type ",
                       primitive_util::LowercasePrimitiveTypeName(type)));
  }
}

Operand WholeArray(kir::BufferId buffer, const Shape& shape) {
  Operand array;
  array.buffer = buffer;
  array.indices.resize(MemoryExtents(shape).size(), 0);
  return array;
}

absl::Status NotLowered(const HloInstruction& hlo, absl::string_view reason) {
  return absl::UnimplementedError(absl::StrCat(
      HloOpcodeString(hlo.opcode()), ": ", reason, ", in ", hlo.name()));
}

absl::Status NotLowered(const HloInstruction& hlo, const absl::Status& reason) {
  // Instructions that it is for have been named already.
  if (reason.ok() || !absl::IsUnimplemented(reason) ||
      absl::StrContains(reason.message(), ", in ")) {
    return reason;
  }
  return NotLowered(hlo, reason.message());
}

const std::vector<Operand>* ElementEmitter::Find(const Key& key) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto found = scope->values.find(key);
    if (found != scope->values.end()) return &found->second;
  }
  return nullptr;
}

void ElementEmitter::Remember(const HloInstruction& hlo, const Indices& indices,
                              std::vector<Operand> values) {
  scopes_.back().values[{&hlo, indices}] = std::move(values);
}

absl::Status ElementEmitter::InScope(absl::FunctionRef<absl::Status()> body) {
  scopes_.emplace_back();
  const absl::Status status = body();
  scopes_.pop_back();
  return status;
}

absl::StatusOr<std::vector<Operand>> ElementEmitter::Apply(
    const HloComputation& computation, absl::Span<const Operand> args) {
  std::vector<Operand> results;
  RETURN_IF_ERROR(InScope([&]() -> absl::Status {
    for (size_t p = 0; p < args.size(); ++p) {
      Remember(*computation.parameter_instruction(p), {}, {args[p]});
    }
    const HloInstruction& root = *computation.root_instruction();
    const int64_t count =
        root.shape().IsTuple() ? root.shape().tuple_shapes().size() : 1;
    for (int64_t k = 0; k < count; ++k) {
      ASSIGN_OR_RETURN(Operand result, Element(root, {}, k));
      results.push_back(result);
    }
    return absl::OkStatus();
  }));
  return results;
}

// The core of loop fusion: emits the computation of one element on demand, by
// recursion over operands. Instructions that move data only transform the
// indices on the way. Values are memoized by instruction and symbolic indices,
// so an element read at equal indices by several users is computed once; at
// different indices it is recomputed. Memoized values belong to scopes, since a
// register assigned inside a branch or loop is not defined outside of it.
absl::StatusOr<Operand> ElementEmitter::Element(const HloInstruction& hlo,
                                                const Indices& indices,
                                                int64_t tuple_index) {
  if (hlo.opcode() == HloOpcode::kTuple) {
    return Element(*hlo.operand(tuple_index), indices);
  }
  // What has no element is read under conditions that never hold.
  if (hlo.shape().IsArray() && ShapeUtil::IsZeroElementArray(hlo.shape())) {
    ASSIGN_OR_RETURN(const ElementType type,
                     KernelType(hlo.shape().element_type()));
    return builder_.Emit("full", type, {0.0});
  }
  const Key key(&hlo, indices);
  if (const std::vector<Operand>* known = Find(key)) {
    return (*known)[tuple_index];
  }
  if (++depth_ > kMaxDepth) {
    return NotLowered(hlo, "instructions are nested too deep");
  }
  absl::Cleanup up = [this] { --depth_; };
  if (hlo.opcode() == HloOpcode::kGetTupleElement &&
      inputs_.find(&hlo) == inputs_.end()) {
    return Element(*hlo.operand(0), indices, hlo.tuple_index());
  }
  for (const AffineExpr& index : indices) {
    if (!index.IsValid()) return NotLowered(hlo, "an index is too large");
  }
  RETURN_IF_ERROR(NotLowered(hlo, builder_.status()));
  Values values = Compute(hlo, indices);
  RETURN_IF_ERROR(NotLowered(hlo, values.status()));
  const Operand value = (*values)[tuple_index];
  Remember(hlo, indices, *std::move(values));
  return value;
}

bool ElementEmitter::ReadsRegister(const Indices& indices) const {
  return absl::c_any_of(indices, [this](const AffineExpr& index) {
    return builder_.ReadsRegister(index);
  });
}

// Operands have affine indices, which are known from loop variables alone.
// Where an index comes from a register (of a gather, say), the element is named
// by its number in memory instead, by which `gather` and `scatter` address a
// whole array.
absl::StatusOr<Operand> ElementEmitter::PlaceInMemory(const Shape& shape,
                                                      const Indices& indices) {
  AffineExpr number;
  const std::vector<int64_t> strides = MemoryStrides(shape);
  for (size_t d = 0; d < indices.size(); ++d) {
    number = number + indices[d] * AffineExpr(strides[d]);
  }
  ASSIGN_OR_RETURN(const kir::Argument place, builder_.Number(number));
  if (const auto* known = std::get_if<Operand>(&place)) return *known;
  return builder_.Emit("copy", ElementType::kS64, {place});
}

absl::StatusOr<Operand> ElementEmitter::Load(const HloInstruction& hlo,
                                             kir::BufferId buffer,
                                             const Indices& indices) {
  if (PackedBits(hlo.shape()) > 0) return LoadPacked(hlo, buffer, indices);
  ASSIGN_OR_RETURN(const ElementType type,
                   KernelType(hlo.shape().element_type()));
  if (!ReadsRegister(indices)) {
    Operand element;
    element.buffer = buffer;
    element.indices = MemoryIndices(hlo.shape(), indices);
    return builder_.Emit("copy", type, {element});
  }
  ASSIGN_OR_RETURN(const Operand place, PlaceInMemory(hlo.shape(), indices));
  return builder_.Emit("gather", type,
                       {WholeArray(buffer, hlo.shape()), place});
}

// Elements below a byte: the first one of a byte is in its lowest bits, so an
// element is moved down by its place in the byte, and what is above it cut.
absl::StatusOr<Operand> ElementEmitter::LoadPacked(const HloInstruction& hlo,
                                                   kir::BufferId buffer,
                                                   const Indices& indices) {
  ASSIGN_OR_RETURN(const ElementType type,
                   KernelType(hlo.shape().element_type()));
  const int64_t bits = PackedBits(hlo.shape());
  const AffineExpr of_byte(8 / bits);
  Operand array, byte;
  array.buffer = buffer;
  kir::Argument shift;
  if (ReadsRegister(indices)) {
    ASSIGN_OR_RETURN(const Operand place, PlaceInMemory(hlo.shape(), indices));
    array.indices = {0};
    byte = builder_.Emit(
        "gather", ElementType::kU8,
        {array, builder_.Emit("div", ElementType::kS64, {place, of_byte})});
    shift = builder_.Emit(
        "mul", ElementType::kS64,
        {builder_.Emit("rem", ElementType::kS64, {place, of_byte}),
         AffineExpr(bits)});
  } else {
    AffineExpr place;
    const std::vector<int64_t> strides = MemoryStrides(hlo.shape());
    for (size_t d = 0; d < indices.size(); ++d) {
      place = place + indices[d] * AffineExpr(strides[d]);
    }
    array.indices = {
        AffineExpr::FloorDiv(place, of_byte).SimplifyIn(builder_.ranges())};
    byte = builder_.Emit("copy", ElementType::kU8, {array});
    shift = (AffineExpr::Mod(place, of_byte) * AffineExpr(bits))
                .SimplifyIn(builder_.ranges());
  }
  const Operand low = builder_.Emit("shr", ElementType::kU8, {byte, shift});
  return Narrow(builder_.Emit("cast", type, {low}), hlo.shape().element_type());
}

// Up and down again: a type with a sign gets copies of it in the bits above,
// one without gets zeros, as shifts to the right of bytes do.
Operand ElementEmitter::Narrow(const Operand& value, PrimitiveType type) {
  const AffineExpr above(8 - primitive_util::BitWidth(type));
  const ElementType byte = builder_.TypeOf(value);
  return builder_.Emit("shr", byte,
                       {builder_.Emit("shl", byte, {value, above}), above});
}

absl::Status ElementEmitter::StoreAt(kir::BufferId buffer, const Shape& shape,
                                     const Indices& indices,
                                     const Operand& value) {
  if (!ReadsRegister(indices)) {
    Operand element;
    element.buffer = buffer;
    element.indices = MemoryIndices(shape, indices);
    builder_.EmitTo(element, "copy", {value});
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const Operand place, PlaceInMemory(shape, indices));
  builder_.EmitTo(WholeArray(buffer, shape), "scatter", {value, place});
  return absl::OkStatus();
}

absl::Status ElementEmitter::StoreWhere(const Operand& condition,
                                        kir::BufferId buffer,
                                        const Shape& shape,
                                        const Indices& indices,
                                        const Operand& value) {
  ASSIGN_OR_RETURN(const Operand place, PlaceInMemory(shape, indices));
  builder_.EmitTo(WholeArray(buffer, shape), "scatter",
                  {value, place, condition});
  return absl::OkStatus();
}

ElementEmitter::Values ElementEmitter::Compute(const HloInstruction& hlo,
                                               const Indices& indices) {
  const auto input = inputs_.find(&hlo);
  if (input != inputs_.end()) {
    ASSIGN_OR_RETURN(Operand value, Load(hlo, input->second, indices));
    return std::vector<Operand>{value};
  }
  if (forbidden_.count(&hlo) > 0) {
    return NotLowered(hlo,
                      "a thread needs an element of it that another "
                      "thread computes");
  }
  switch (hlo.opcode()) {
    case HloOpcode::kConstant:
      return Constant(hlo);
    case HloOpcode::kIota:
      return Iota(hlo, indices);
    case HloOpcode::kPad:
      return Pad(hlo, indices);
    case HloOpcode::kConcatenate: {
      ASSIGN_OR_RETURN(Operand value,
                       Concatenate(hlo, indices, 0, hlo.operand_count()));
      return std::vector<Operand>{value};
    }
    case HloOpcode::kDynamicSlice:
      return DynamicSlice(hlo, indices);
    case HloOpcode::kDynamicUpdateSlice:
      return DynamicUpdateSlice(hlo, indices);
    case HloOpcode::kGather:
      return Gather(hlo, indices);
    case HloOpcode::kReduce:
      return Reduce(hlo, indices);
    case HloOpcode::kReduceWindow:
      return ReduceWindow(hlo, indices);
    case HloOpcode::kConvolution:
      return Convolution(hlo, indices);
    case HloOpcode::kDot:
      return Dot(hlo, indices);
    case HloOpcode::kScatter:
      return Scatter(hlo, indices);
    case HloOpcode::kSelectAndScatter:
      return SelectAndScatter(hlo, indices);
    case HloOpcode::kBitcast:
    case HloOpcode::kBroadcast:
    case HloOpcode::kCopy:
    case HloOpcode::kReshape:
    case HloOpcode::kReverse:
    case HloOpcode::kSlice:
    case HloOpcode::kTranspose: {
      const HloInstruction& operand = *hlo.operand(0);
      if (!hlo.shape().IsArray()) return NotLowered(hlo, "copies a tuple");
      if (operand.shape().element_type() != hlo.shape().element_type()) {
        return NotLowered(hlo, "the element type changes");
      }
      ASSIGN_OR_RETURN(
          Operand value,
          Element(operand, MapIndices(hlo, 0, indices, builder_.ranges())));
      return std::vector<Operand>{value};
    }
    case HloOpcode::kCustomCall:
    case HloOpcode::kFusion:
    case HloOpcode::kGetTupleElement:
    case HloOpcode::kMap:
    case HloOpcode::kParameter:
    case HloOpcode::kRaggedDot:
    case HloOpcode::kScaledDot:
    case HloOpcode::kScan:
    case HloOpcode::kSort:
    case HloOpcode::kTuple:
    case XLA_ANY_COMMUNICATION:
    case XLA_ANY_ELEMENTWISE:
    case XLA_ANY_DYNAMIC_SIZE:
    case XLA_ANY_BATCH_NORM:
    case XLA_ANY_LIBRARY_CALL:
    case XLA_ANY_RANDOM:
    case XLA_ANY_CONTROL_FLOW:
    case XLA_ANY_ORDERING:
    case XLA_ANY_DEVICE_ID:
      break;
  }
  if (hlo.IsElementwise() || hlo.opcode() == HloOpcode::kMap) {
    return Elementwise(hlo, indices);
  }
  if (hlo.opcode() == HloOpcode::kBitcastConvert) {
    return SplitOrJoinBits(hlo, indices);
  }
  if (hlo.opcode() == HloOpcode::kCustomCall) {
    return NotLowered(hlo, absl::StrCat("no kernel of ours computes ",
                                        hlo.custom_call_target()));
  }
  if (HloPredicateIsOp<HloOpcode::kSort, HloOpcode::kTopK>(&hlo)) {
    return NotLowered(hlo,
                      "a result of the kernel needs more than "
                      "the sorted element in the same place");
  }
  return NotLowered(hlo, "not lowered");
}

}  // namespace xla::gpu
