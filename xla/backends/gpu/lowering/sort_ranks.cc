#include "xla/backends/gpu/lowering/sort_ranks.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/lowering/index_maps.h"
#include "xla/backends/gpu/lowering/sort_emitter.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/utils/comparator_order.h"
#include "xla/status_macros.h"
#include "xla/util.h"

namespace xla::gpu {
namespace {

using kir::ElementType;
using kir::Operand;

// Some tenths of a second.
constexpr int64_t kMostPairs = int64_t{1} << 40;

class RankEmitter : public SortEmitter {
 public:
  RankEmitter(const SortGroup& group, KernelFrame* frame)
      : SortEmitter(group, frame) {}

  absl::Status Check() const;
  absl::Status Emit();

 private:
  // Whether the comparator looks at that operand.
  bool IsCompared(int64_t operand) const;
  // How many elements of its row go before the one of these values.
  absl::StatusOr<Operand> Rank(const Indices& indices,
                               absl::Span<const Operand> values);
  absl::Status WriteAt(const Operand& rank, const Indices& indices,
                       std::vector<Operand> values);
};

// Every element is compared with all others of its row, so elements² * rows
// pairs are compared, and what is compared is computed anew for each: it must
// not contain loops of its own. Places of results come from ranks, so that
// threads write scattered elements: where elements share a byte, two threads
// could write the same one.
absl::Status RankEmitter::Check() const {
  const auto refuse = [&](absl::string_view why) {
    return NotLowered(sort_, absl::StrCat("rows of ", group_.elements,
                                          " elements do not fit into shared "
                                          "memory, and ",
                                          why));
  };
  if (group_.elements > kMostPairs / group_.elements / group_.rows) {
    return refuse("have too many pairs to compare");
  }
  if (sort_.opcode() == HloOpcode::kSort &&
      !CheckComparatorOrder(*sort_.to_apply(), FloatOrders::kTotalOnly).ok()) {
    return refuse("NaNs have no place in their order");
  }
  absl::flat_hash_set<const HloInstruction*> seen = {&sort_};
  std::vector<const HloInstruction*> stack(sort_.operands().begin(),
                                           sort_.operands().end());
  while (!stack.empty()) {
    const HloInstruction& hlo = *stack.back();
    stack.pop_back();
    if (emitter_.FindInput(hlo) >= 0 || !seen.insert(&hlo).second) continue;
    if (TakesALoop(hlo)) {
      return refuse(
          absl::StrCat("are computed by ", HloOpcodeString(hlo.opcode())));
    }
    stack.insert(stack.end(), hlo.operands().begin(), hlo.operands().end());
  }
  for (int64_t k : group_.results) {
    const KernelFrame::Result& result = frame_.results()[k];
    if (result.part >= 0 || PackedBits(result.shape) > 0) {
      return refuse("threads would share bytes of the result");
    }
  }
  return absl::OkStatus();
}

bool RankEmitter::IsCompared(int64_t operand) const {
  if (sort_.opcode() == HloOpcode::kTopK) return true;
  const HloComputation& comparator = *sort_.to_apply();
  for (int64_t number : {2 * operand, 2 * operand + 1}) {
    const HloInstruction* element = comparator.parameter_instruction(number);
    if (element->user_count() > 0 || element == comparator.root_instruction()) {
      return true;
    }
  }
  return false;
}

// Of each pair of a row exactly one goes before the other: the one the
// comparator says, or for equals the one with the lower index. The ranks are
// therefore a permutation of 0 … elements - 1, no two threads write one place,
// and the sort is stable. That needs a strict weak order; with a NaN that is
// neither before nor after anything, equality is not transitive and ranks would
// collide.
//
// Operands that the comparator ignores are not read again for each pair; the
// thread's own value stands in for the other one.
absl::StatusOr<Operand> RankEmitter::Rank(const Indices& indices,
                                          absl::Span<const Operand> values) {
  constexpr ElementType kPred = ElementType::kPred;
  const Operand rank =
      builder_.Emit("copy", ElementType::kS32, {AffineExpr(0)});
  RETURN_IF_ERROR(builder_.Loop(
      "r", kir::LoopKind::kSerial, 0, group_.elements,
      [&](const AffineExpr& other) {
        return emitter_.InScope([&]() -> absl::Status {
          Indices places = indices;
          places[along_] = other;
          std::vector<Operand> others(values.begin(), values.end());
          for (int64_t k = 0; k < sort_.operand_count(); ++k) {
            if (!IsCompared(k)) continue;
            ASSIGN_OR_RETURN(others[k],
                             emitter_.Element(*sort_.operand(k), places));
          }
          ASSIGN_OR_RETURN(const Operand less, GoesBefore(others, values));
          ASSIGN_OR_RETURN(const Operand more, GoesBefore(values, others));
          const Operand is_earlier =
              builder_.Emit("lt", kPred, {other, indices[along_]});
          const Operand not_more = builder_.Emit("not", kPred, {more});
          const Operand tie =
              builder_.Emit("and", kPred, {not_more, is_earlier});
          const Operand before = builder_.Emit("or", kPred, {less, tie});
          builder_.EmitTo(rank, "add", {rank, before});
          return absl::OkStatus();
        });
      }));
  return rank;
}

absl::Status RankEmitter::WriteAt(const Operand& rank, const Indices& indices,
                                  std::vector<Operand> values) {
  if (sort_.opcode() == HloOpcode::kTopK) {
    ASSIGN_OR_RETURN(const ElementType type,
                     KernelType(sort_.shape().tuple_shapes(1).element_type()));
    values.push_back(builder_.Emit("copy", type, {indices[along_]}));
  }
  const Operand is_written =
      builder_.Emit("lt", ElementType::kPred, {rank, AffineExpr(written_)});
  const Operand place =
      builder_.Emit("min", ElementType::kS32, {rank, AffineExpr(written_ - 1)});
  Indices places = indices;
  places[along_] = builder_.NameRegister(place, 0, written_ - 1);
  const auto store = [&](const KernelFrame::Result& result,
                         const Indices& at) -> absl::Status {
    ASSIGN_OR_RETURN(const Operand value,
                     emitter_.Element(*result.hlo, at, result.tuple_index));
    return emitter_.StoreWhere(is_written, result.buffer, result.shape, at,
                               value);
  };
  return WriteResults(places, std::move(values), store);
}

// Threads next to each other have elements next to each other in memory.
absl::Status RankEmitter::Emit() {
  const int64_t count = group_.rows * group_.elements;
  const std::vector<int64_t> dims = MemoryOrder(shape_);
  return frame_.Blocks(
      CeilOfRatio(count, frame_.threads()),
      [&](const AffineExpr& block, const AffineExpr& thread) -> absl::Status {
        const AffineExpr number = block * AffineExpr(frame_.threads()) + thread;
        Indices indices(shape_.dimensions().size());
        const auto element = [&]() -> absl::Status {
          std::vector<Operand> values;
          for (const HloInstruction* operand : sort_.operands()) {
            ASSIGN_OR_RETURN(values.emplace_back(),
                             emitter_.Element(*operand, indices));
          }
          ASSIGN_OR_RETURN(const Operand rank, Rank(indices, values));
          return WriteAt(rank, indices, std::move(values));
        };
        return frame_.Where(Inside(number, count, builder_.ranges()), [&] {
          return frame_.Named(shape_, dims, number, &indices, element);
        });
      });
}

}  // namespace

absl::Status EmitSortByRanks(const SortGroup& group, KernelFrame* frame) {
  RankEmitter emitter(group, frame);
  RETURN_IF_ERROR(emitter.Check());
  return emitter.Emit();
}

}  // namespace xla::gpu
