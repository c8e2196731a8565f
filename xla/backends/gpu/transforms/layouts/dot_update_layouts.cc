#include "xla/backends/gpu/transforms/layouts/dot_update_layouts.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/transforms/layouts/dot_roles.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

// An operand's dimensions by what they stand for, the batches first; those of
// its rows before those of its columns.
std::vector<std::vector<int64_t>> MatrixRoles(const HloInstruction& dot,
                                              int64_t operand) {
  DotRoles roles = RolesOf(dot, operand);
  if (operand == 1) std::swap(roles.free, roles.contracting);
  return {roles.batch, roles.free, roles.contracting};
}

// Whether the dimensions of each role follow one another in memory, and the
// innermost one is not a batch.
bool LiesAsMatrices(const Shape& shape,
                    absl::Span<const std::vector<int64_t>> roles) {
  const std::optional<std::vector<int64_t>> order = OrderOfGroups(shape, roles);
  return order.has_value() && (order->empty() || order->front() != 0);
}

bool MayMove(const HloInstruction& value) {
  return HasPlainLayout(value.shape()) && !value.HasControlDependencies() &&
         !value.has_sharding();
}

Shape InOrder(const Shape& shape, absl::Span<const int64_t> major_to_minor) {
  Shape result = shape;
  result.mutable_layout()->mutable_minor_to_major()->assign(
      major_to_minor.rbegin(), major_to_minor.rend());
  return result;
}

HloInstruction* CopyInOrder(HloInstruction* value,
                            absl::Span<const int64_t> major_to_minor) {
  return value->parent()->AddInstruction(HloInstruction::CreateUnary(
      InOrder(value->shape(), major_to_minor), HloOpcode::kCopy, value));
}

// How the dot wants its operand's dimensions to lie, the slowest first.
std::vector<int64_t> WantedOrder(const HloInstruction& dot, int64_t operand) {
  std::vector<int64_t> order;
  for (const std::vector<int64_t>& role : MatrixRoles(dot, operand)) {
    order.insert(order.end(), role.begin(), role.end());
  }
  return order;
}

// Lets the dot read `bits`, which has its operand's dimensions in `order`.
absl::Status Read(HloInstruction* dot, int64_t operand, HloInstruction* bits,
                  absl::Span<const int64_t> order) {
  DotDimensionNumbers numbers = dot->dot_dimension_numbers();
  auto renumber = [&](auto* dimensions) {
    for (auto& d : *dimensions) d = absl::c_find(order, d) - order.begin();
  };
  renumber(operand == 0 ? numbers.mutable_lhs_batch_dimensions()
                        : numbers.mutable_rhs_batch_dimensions());
  renumber(operand == 0 ? numbers.mutable_lhs_contracting_dimensions()
                        : numbers.mutable_rhs_contracting_dimensions());
  HloInstruction* operands[] = {dot->mutable_operand(0),
                                dot->mutable_operand(1)};
  operands[operand] = bits;
  return dot->parent()->ReplaceWithNewInstruction(
      dot, HloInstruction::CreateDot(dot->shape(), operands[0], operands[1],
                                     numbers, dot->precision_config()));
}

struct Reader {
  HloInstruction* dot;
  int64_t operand;
};

// The dots that read the update, and only in one place.
std::vector<Reader> DotsThatRead(const HloInstruction& update) {
  std::vector<Reader> readers;
  for (HloInstruction* user : update.users()) {
    if (user->opcode() != HloOpcode::kDot || user->operand_count() != 2 ||
        user->HasControlDependencies() ||
        user->operand(0) == user->operand(1)) {
      continue;
    }
    readers.push_back({user, user->operand_index(&update)});
  }
  return readers;
}

// Whether a dot wants the update in another order, which it then has.
absl::StatusOr<bool> Move(HloInstruction* update) {
  if (!MayMove(*update) || !MayMove(*update->operand(0)) ||
      !MayMove(*update->operand(1))) {
    return false;
  }
  const std::vector<Reader> readers = DotsThatRead(*update);
  const auto wanting = absl::c_find_if(readers, [&](const Reader& reader) {
    return !LiesAsMatrices(update->shape(),
                           MatrixRoles(*reader.dot, reader.operand));
  });
  if (wanting == readers.end()) return false;
  const std::vector<int64_t> order =
      WantedOrder(*wanting->dot, wanting->operand);
  if (InOrder(update->shape(), order) == update->shape()) return false;
  std::vector<HloInstruction*> operands(update->operands().begin(),
                                        update->operands().end());
  operands[0] = CopyInOrder(operands[0], order);
  operands[1] = CopyInOrder(operands[1], order);
  HloComputation* computation = update->parent();
  HloInstruction* moved = computation->AddInstruction(
      update->CloneWithNewOperands(InOrder(update->shape(), order), operands));
  HloInstruction* bits =
      computation->AddInstruction(HloInstruction::CreateBitcast(
          ShapeUtil::MakeShapeWithDescendingLayoutAndSamePhysicalLayout(
              moved->shape()),
          moved));
  // First: a dot that is replaced takes along operands that nothing else reads.
  RETURN_IF_ERROR(computation->ReplaceWithNewInstruction(
      update,
      HloInstruction::CreateUnary(update->shape(), HloOpcode::kCopy, moved)));
  for (const Reader& reader : readers) {
    if (WantedOrder(*reader.dot, reader.operand) != order) continue;
    RETURN_IF_ERROR(Read(reader.dot, reader.operand, bits, order));
  }
  return true;
}

}  // namespace

absl::StatusOr<bool> DotUpdateLayouts::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    std::vector<HloInstruction*> updates;
    for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      if (inst->opcode() == HloOpcode::kDynamicUpdateSlice) {
        updates.push_back(inst);
      }
    }
    for (HloInstruction* update : updates) {
      ASSIGN_OR_RETURN(const bool moved, Move(update));
      changed |= moved;
    }
  }
  if (changed && module->has_schedule()) {
    RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla::gpu
