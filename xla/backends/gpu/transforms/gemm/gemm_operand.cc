#include "xla/backends/gpu/transforms/gemm/gemm_operand.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "xla/backends/gpu/model/gpu_fusible.h"
#include "xla/backends/gpu/model/library_dot.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/utils/hlo_query.h"
#include "xla/layout_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla::gpu {
namespace {

// Dimensions from major to minor.
std::vector<int64_t> MemoryOrder(const Shape& shape) {
  const auto order = shape.layout().minor_to_major();
  return std::vector<int64_t>(order.rbegin(), order.rend());
}

bool HasFloats(const HloInstruction& value) {
  const PrimitiveType type = value.shape().element_type();
  return type == F16 || type == BF16 || type == F32;
}

// The most dots that are looked at for one slice.
constexpr int64_t kMaxReaders = 16;

// How many dots read the value, as it is or in another shape or type; 0 if
// anything else does.
int64_t CountDotReaders(const HloInstruction& value) {
  if (value.HasControlDependencies() || value.user_count() > kMaxReaders ||
      &value == value.parent()->root_instruction()) {
    return 0;
  }
  int64_t count = 0;
  for (const HloInstruction* user : value.users()) {
    int64_t added = user->opcode() == HloOpcode::kDot ? 1 : 0;
    if (OperandOfView(*user) != nullptr ||
        user->opcode() == HloOpcode::kConvert) {
      added = CountDotReaders(*user);
    }
    if (added == 0) return 0;
    count += added;
  }
  return count <= kMaxReaders ? count : 0;
}

// Runs of dimensions of one kind, sizes multiplied.
//
// Fails if dimensions of one kind are not neighbors in memory, or not in the
// order of the dot's dimension numbers: then the operand is no matrix with one
// stride for rows and one for columns.
bool GroupDimensions(const HloDotInstruction& dot, int64_t number,
                     GemmOperand* operand) {
  const DotDimensionNumbers& dnums = dot.dot_dimension_numbers();
  const auto& batch =
      number == 0 ? dnums.lhs_batch_dimensions() : dnums.rhs_batch_dimensions();
  const auto& contracting = number == 0 ? dnums.lhs_contracting_dimensions()
                                        : dnums.rhs_contracting_dimensions();
  // Where dimensions stand among those of their kind; runs go up in these.
  int64_t last_place = -1;
  const Shape& shape = dot.operand(number)->shape();
  for (int64_t dim : MemoryOrder(shape)) {
    if (shape.dimensions(dim) == 1) continue;
    DotDimensionKind kind = DotDimensionKind::kFree;
    int64_t place = dim;
    if (auto it = absl::c_find(batch, dim); it != batch.end()) {
      kind = DotDimensionKind::kBatch;
      place = it - batch.begin();
    } else if (auto it = absl::c_find(contracting, dim);
               it != contracting.end()) {
      kind = DotDimensionKind::kContracting;
      place = it - contracting.begin();
    }
    if (!operand->kinds.empty() && operand->kinds.back() == kind) {
      if (place < last_place) return false;
      operand->dims.back() *= shape.dimensions(dim);
    } else {
      if (absl::c_linear_search(operand->kinds, kind)) return false;
      operand->kinds.push_back(kind);
      operand->dims.push_back(shape.dimensions(dim));
    }
    last_place = place;
  }
  const size_t matrix = operand->kinds.size();
  if (matrix == 3) return operand->kinds[0] == DotDimensionKind::kBatch;
  return matrix == 2 &&
         !absl::c_linear_search(operand->kinds, DotDimensionKind::kBatch);
}

// The start of a slice in a dimension.
GemmOperand::Cut CutOf(const HloInstruction& slice, int64_t dim) {
  GemmOperand::Cut cut{slice.shape().dimensions(dim)};
  if (slice.opcode() == HloOpcode::kSlice) {
    cut.start = slice.slice_starts(dim);
  } else {
    cut.at = const_cast<HloInstruction*>(slice.operand(1 + dim));
  }
  return cut;
}

// Takes the slice in, if it is one of whole dimensions of `operand->dims` or
// picks places in dimensions between these.
bool AddSlice(const HloInstruction& slice, GemmOperand* operand) {
  if (ShapeUtil::IsZeroElementArray(slice.shape())) return false;
  const Shape& from = slice.operand(0)->shape();
  const std::vector<int64_t> order = MemoryOrder(from);
  if (order != MemoryOrder(slice.shape())) return false;
  if (slice.opcode() == HloOpcode::kSlice &&
      absl::c_any_of(slice.slice_strides(),
                     [](int64_t stride) { return stride != 1; })) {
    return false;
  }
  std::vector<int64_t> dims;
  std::vector<GemmOperand::Cut> cuts;
  size_t group = 0;
  int64_t done = 1;      // of dims[group]
  bool is_open = false;  // the last of `dims` is part of it
  for (int64_t dim : order) {
    const int64_t size = slice.shape().dimensions(dim);
    const bool is_cut = size != from.dimensions(dim);
    if (size == 1) {
      if (!is_cut) continue;
      dims.push_back(from.dimensions(dim));
      cuts.push_back(CutOf(slice, dim));
      is_open = false;
      continue;
    }
    const bool is_new = done == 1;
    if (group == operand->dims.size() ||
        operand->dims[group] % (done * size) != 0 || (is_cut && !is_new) ||
        (!is_new && !is_open)) {
      return false;
    }
    done *= size;
    if (is_new) {
      dims.push_back(from.dimensions(dim));
      cuts.push_back(is_cut ? CutOf(slice, dim) : GemmOperand::Cut{size});
    } else {
      dims.back() *= size;
      cuts.back().size *= size;
    }
    if (done == operand->dims[group]) {
      ++group;
      done = 1;
      is_open = false;
    } else if (is_cut) {
      return false;
    } else {
      is_open = true;
    }
  }
  operand->source_dims = std::move(dims);
  operand->cuts = std::move(cuts);
  return true;
}

int64_t Width(const HloInstruction& value) {
  return ShapeUtil::ByteSizeOfPrimitiveType(value.shape().element_type());
}

// What OpenXLA computes with a dot for nothing: it reads no more than it makes.
// The operand that it reads; null if it is something else.
HloInstruction* OperandOfStep(const HloInstruction& value) {
  if (!value.IsElementwise() || value.opcode() == HloOpcode::kCopy ||
      value.HasControlDependencies()) {
    return nullptr;
  }
  HloInstruction* from = OnlyArrayOperand(value);
  return from != nullptr && HasFloats(value) && HasFloats(*from) &&
                 Width(*from) <= Width(value) &&
                 MemoryOrder(value.shape()) == MemoryOrder(from->shape())
             ? from
             : nullptr;
}

}  // namespace

HloInstruction* OnlyArrayOperand(const HloInstruction& hlo) {
  const HloInstruction* only = nullptr;
  for (const HloInstruction* operand : hlo.operands()) {
    if (hlo_query::IsBroadcastOfScalarConstant(*operand)) continue;
    if (only != nullptr) return nullptr;
    only = operand;
  }
  return const_cast<HloInstruction*>(only);
}

bool IsInMemory(const HloInstruction& value) {
  const HloInstruction* made = &value;
  while (HloInstruction* viewed = OperandOfView(*made)) made = viewed;
  return !IsLoopFusibleAsProducer(*made);
}

// Walks up from the dot through views, converts and at most one slice to the
// array that is in memory anyway. It stops where something else than dots reads
// the value, since the value then has to be written to memory regardless; not
// at what OpenXLA computes for nothing.
std::optional<GemmOperand> FindGemmOperand(const HloDotInstruction& dot,
                                           int64_t number, bool upstream) {
  GemmOperand operand;
  HloInstruction* whole = const_cast<HloInstruction*>(dot.operand(number));
  if (!HasFloats(*whole) || !GroupDimensions(dot, number, &operand)) {
    return std::nullopt;
  }
  operand.source = whole;
  operand.source_dims = operand.dims;
  GemmOperand found = operand;
  HloInstruction* value = whole;
  for (;;) {
    if (upstream) {
      HloInstruction* viewed = OperandOfView(*value);
      HloInstruction* from = OperandOfStep(*value);
      if (viewed != nullptr) {
        value = viewed;
        continue;
      }
      if (from != nullptr) {
        found.steps.insert(found.steps.begin(), value);
        found.source = value = from;
        operand = found;
        continue;
      }
    }
    const int64_t readers = CountDotReaders(*value);
    if (readers == 0) break;
    found.readers = std::max(found.readers, readers);
    if (HloInstruction* viewed = OperandOfView(*value)) {
      value = viewed;
      continue;
    }
    HloInstruction* from =
        value->operand_count() > 0 ? value->mutable_operand(0) : nullptr;
    if (value->opcode() == HloOpcode::kConvert && readers == 1 &&
        HasFloats(*from) &&
        MemoryOrder(value->shape()) == MemoryOrder(from->shape())) {
      found.steps.insert(found.steps.begin(), value);
    } else if (upstream ||
               !HloPredicateIsOp<HloOpcode::kSlice, HloOpcode::kDynamicSlice>(
                   value) ||
               !AddSlice(*value, &found)) {
      break;
    }
    found.source = value = from;
    if (!found.cuts.empty()) break;
  }
  return found.IsComputed() && IsInMemory(*found.source) ? found : operand;
}

}  // namespace xla::gpu
