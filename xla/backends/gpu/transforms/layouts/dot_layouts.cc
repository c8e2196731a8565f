#include "xla/backends/gpu/transforms/layouts/dot_layouts.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/model/library_dot.h"
#include "xla/backends/gpu/transforms/layouts/dot_roles.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

// For each byte that a copy reads or writes.
constexpr double kMinMultiplicationsPerByte = 16;

// Positions in the list `dims` of dimensions of `shape`, in the order in which
// they lie in memory, the slowest first.
std::vector<int64_t> MemoryOrder(const Shape& shape,
                                 absl::Span<const int64_t> dims) {
  std::vector<int64_t> positions;
  const auto& minor_to_major = shape.layout().minor_to_major();
  for (size_t i = minor_to_major.size(); i-- > 0;) {
    const auto found = absl::c_find(dims, minor_to_major[i]);
    if (found != dims.end()) positions.push_back(found - dims.begin());
  }
  return positions;
}

std::vector<int64_t> Range(int64_t first, int64_t count) {
  std::vector<int64_t> range;
  for (int64_t i = 0; i < count; ++i) range.push_back(first + i);
  return range;
}

// The operand as a library call takes it: batches and free dimensions as they
// follow one another in the result, contracted ones as in `other`, the other
// operand's shape; the free or the contracted ones are contiguous.
Shape LibraryShape(const HloInstruction& dot, int64_t operand,
                   const Shape& other, bool is_free_last) {
  const DotRoles roles = RolesOf(dot, operand),
                 others = RolesOf(dot, 1 - operand);
  const int64_t batches = roles.batch.size();
  const int64_t first_free =
      batches + (operand == 0 ? 0 : int64_t(others.free.size()));
  std::vector<int64_t> batch, free, contracting;
  for (int64_t i : MemoryOrder(dot.shape(), Range(0, batches))) {
    batch.push_back(roles.batch[i]);
  }
  for (int64_t i :
       MemoryOrder(dot.shape(), Range(first_free, roles.free.size()))) {
    free.push_back(roles.free[i]);
  }
  for (int64_t i : MemoryOrder(other, others.contracting)) {
    contracting.push_back(roles.contracting[i]);
  }
  std::vector<int64_t> order = batch;
  const std::vector<int64_t>& middle = is_free_last ? contracting : free;
  const std::vector<int64_t>& last = is_free_last ? free : contracting;
  order.insert(order.end(), middle.begin(), middle.end());
  order.insert(order.end(), last.begin(), last.end());
  absl::c_reverse(order);
  Shape shape = dot.operand(operand)->shape();
  *shape.mutable_layout() = LayoutUtil::MakeLayout(order);
  shape.mutable_layout()->set_memory_space(
      dot.operand(operand)->shape().layout().memory_space());
  return shape;
}

// How an operand should lie; none: as it does.
struct Copies {
  std::optional<Shape> shapes[2];
  int64_t bytes = 0;  // that are read and written
};

// The fewest bytes that make a library call of the dot.
std::optional<Copies> FindCopies(const HloInstruction& dot) {
  const Shape& lhs = dot.operand(0)->shape();
  const Shape& rhs = dot.operand(1)->shape();
  std::optional<Copies> best;
  for (int mask = 1; mask < 4; ++mask) {
    Copies copies;
    Shape shapes[2] = {lhs, rhs};
    for (int64_t operand : {0, 1}) {
      if ((mask >> operand & 1) == 0) continue;
      // Where both are copied, the second follows the first.
      shapes[operand] =
          LibraryShape(dot, operand, shapes[1 - operand], operand == 1);
      copies.shapes[operand] = shapes[operand];
      copies.bytes += 2 * ShapeUtil::ByteSizeOf(shapes[operand]);
    }
    if (best.has_value() && best->bytes <= copies.bytes) continue;
    const std::optional<LibraryDot> library =
        MakeLibraryDot(dot, shapes[0], shapes[1]);
    if (!library.has_value()) continue;
    const double multiplications = double(library->batch) * library->rows *
                                   library->columns * library->depth;
    if (multiplications < kMinMultiplicationsPerByte * copies.bytes) continue;
    best = copies;
  }
  return best;
}

bool MayBeCopiedFor(const HloInstruction& dot) {
  return dot.opcode() == HloOpcode::kDot && dot.operand_count() == 2 &&
         HasPlainLayout(dot.operand(0)->shape()) &&
         HasPlainLayout(dot.operand(1)->shape());
}

// What a copy in another layout was made of, or the value itself. Other copies
// may keep what is read from being written over.
HloInstruction* Copied(HloInstruction* value) {
  return value->opcode() == HloOpcode::kCopy &&
                 !value->HasControlDependencies() &&
                 !ShapeUtil::Equal(value->shape(),
                                   value->operand(0)->shape()) &&
                 ShapeUtil::Compatible(value->shape(),
                                       value->operand(0)->shape())
             ? value->mutable_operand(0)
             : value;
}

// Lets the dots that read `value` read `copy` instead, unless that would cost
// them a library call that they have.
absl::Status ShareCopy(HloInstruction* value, HloInstruction* copy) {
  if (value == copy) return absl::OkStatus();
  const std::vector<HloInstruction*> users(value->users().begin(),
                                           value->users().end());
  for (HloInstruction* dot : users) {
    if (!MayBeCopiedFor(*dot)) continue;
    for (int64_t operand : {0, 1}) {
      if (dot->operand(operand) != value) continue;
      Shape shapes[2] = {dot->operand(0)->shape(), dot->operand(1)->shape()};
      shapes[operand] = copy->shape();
      if (MakeLibraryDot(*dot, shapes[0], shapes[1]).has_value() ||
          !MakeLibraryDot(*dot).has_value()) {
        RETURN_IF_ERROR(dot->ReplaceOperandWith(operand, copy));
      }
    }
  }
  return absl::OkStatus();
}

// Whether it has made a library call of a dot.
absl::StatusOr<bool> CopyOperands(HloComputation* computation) {
  bool changed = false;
  for (HloInstruction* dot : computation->MakeInstructionPostOrder()) {
    if (!MayBeCopiedFor(*dot) || MakeLibraryDot(*dot).has_value()) continue;
    const std::optional<Copies> copies = FindCopies(*dot);
    if (!copies.has_value()) continue;
    for (int64_t operand : {0, 1}) {
      if (!copies->shapes[operand].has_value()) continue;
      const Shape& wanted = *copies->shapes[operand];
      HloInstruction* before = dot->mutable_operand(operand);
      HloInstruction* value = Copied(before);
      HloInstruction* copy =
          ShapeUtil::Equal(value->shape(), wanted)
              ? value
              : computation->AddInstruction(HloInstruction::CreateUnary(
                    wanted, HloOpcode::kCopy, value));
      RETURN_IF_ERROR(dot->ReplaceOperandWith(operand, copy));
      RETURN_IF_ERROR(ShareCopy(value, copy));
      if (before != value) {
        RETURN_IF_ERROR(ShareCopy(before, copy));
      }
    }
    changed = true;
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> DotLayouts::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    // What runs asynchronously on the main thread stays one operation.
    if (computation->IsAsyncComputation()) continue;
    for (int round = 0; round < kMaxDotRounds; ++round) {
      ASSIGN_OR_RETURN(const bool copied, CopyOperands(computation));
      if (!copied) break;
      changed = true;
    }
  }
  if (changed && module->has_schedule()) {
    RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla::gpu
