#ifndef XLA_HLO_TRANSFORMS_COPIES_COPY_WRITER_H_
#define XLA_HLO_TRANSFORMS_COPIES_COPY_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/transforms/copies/copy_sites.h"
#include "xla/shape_util.h"

namespace xla {

// Inserts copies into a module, and keeps an order of it up to date:
//
//   before: w = while(t)
//   after:  g = get-tuple-element(t), index=1; c = copy(g)
//           u = tuple(get-tuple-element(t), index=0, c); w = while(u)
//
// Elements of `tuple` instructions are taken from there. An array that is one
// constant all over is written once more instead. Call Finish() last.
class CopyWriter {
 public:
  // `order` holds every computation with a copy.
  explicit CopyWriter(HloSchedule* order) : order_(order) {}

  // The sites of one instruction, parameter or computation, in the order in
  // which their copies are inserted; all of one kind, kOperand sites of one
  // operand.
  absl::Status WriteOperand(absl::Span<const CopySite* const> sites);
  absl::Status WriteResult(absl::Span<const CopySite* const> sites);
  // Also after a done.
  absl::Status WriteParameter(absl::Span<const CopySite* const> sites);
  // Lets the readers of a kExisting copy read what it copies.
  absl::Status Remove(HloInstruction* copy);

  // Adds the new instructions to the order, and removes those that lost their
  // users.
  absl::Status Finish();

  bool changed() const { return !touched_.empty(); }

 private:
  // Where new instructions go.
  using List = std::vector<HloInstruction*>;
  struct Copy {
    const ShapeIndex* index;
    HloInstruction* copy;
  };

  // The array at `index` of `value`.
  HloInstruction* Leaf(HloInstruction* value, const ShapeIndex& index,
                       List* list);
  HloInstruction* Element(HloInstruction* value, int64_t index, List* list);
  // The value with the copies in it, whose indices agree in `depth` places.
  HloInstruction* Rebuilt(HloInstruction* value, absl::Span<const Copy> copies,
                          size_t depth, List* list);
  HloInstruction* WithCopies(HloInstruction* value,
                             absl::Span<const CopySite* const> sites,
                             List* list);
  // Next to `like`, with its metadata.
  HloInstruction* Add(HloInstruction* like,
                      std::unique_ptr<HloInstruction> inst, List* list);
  absl::Status RemoveLoose();
  void Touch(HloComputation* computation) {
    if (is_touched_.insert(computation).second) touched_.push_back(computation);
  }

  HloSchedule* order_;
  absl::flat_hash_map<const HloInstruction*, List> before_;
  absl::flat_hash_map<const HloInstruction*, List> after_;
  absl::flat_hash_map<const HloComputation*, List> at_start_;
  absl::flat_hash_map<const HloComputation*, List> at_end_;
  // May be without users.
  List loose_;
  absl::flat_hash_set<const HloInstruction*> removed_;
  // Those with changes, in the order of the first.
  std::vector<HloComputation*> touched_;
  absl::flat_hash_set<const HloComputation*> is_touched_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_COPIES_COPY_WRITER_H_
