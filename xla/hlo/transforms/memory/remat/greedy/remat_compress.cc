// Values that wait in a form with fewer bytes.

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/memory/remat/greedy/remat_rewriter.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// The one array that an instruction makes, or null.
const RematBuffer* OnlyBuffer(const RematComputation& state, RematItemId id) {
  const RematBuffers::Item& item = state.buffers().item(id);
  if (item.defined_count != 1 || item.output_count != 1 ||
      !item.instruction->shape().IsArray()) {
    return nullptr;
  }
  return &state.buffers().buffer(item.first_defined);
}

}  // namespace

int64_t BytesFreedByCompression(RematComputation& state, RematItemId item) {
  const RematPolicy& policy = state.policy();
  const RematBuffer* buffer = OnlyBuffer(state, item);
  if (buffer == nullptr || !policy.compact_shape || buffer->bytes == 0) {
    return 0;
  }
  const RematBufferId id = state.buffers().item(item).first_defined;
  if (!state.tracker().live(id) ||
      state.tracker().FirstUnplacedUser(id) == kNoRematItem) {
    return 0;
  }
  const auto compact = policy.compact_shape(state.instruction(item)->shape());
  if (!compact.ok()) return 0;
  const int64_t bytes = state.buffers().SizeOf(*compact);
  if (bytes >= buffer->bytes) return 0;
  if (buffer->bytes + bytes >= state.peak_bytes) return 0;
  return buffer->bytes - bytes;
}

absl::StatusOr<RematChange> Compress(RematComputation& state,
                                     RematItemId item) {
  HloComputation* computation = state.computation();
  HloInstruction* original = state.instruction(item);
  TF_ASSIGN_OR_RETURN(const Shape compact,
                      state.policy().compact_shape(original->shape()));
  HloInstruction* compressed = state.policy().edits.Add(
      computation,
      HloInstruction::CreateUnary(compact, HloOpcode::kCopy, original),
      absl::StrCat(original->name(), ".remat_compressed"));
  TF_ASSIGN_OR_RETURN(const RematItemId compressed_item,
                      state.AddNewItem(compressed));
  state.Denylist(compressed_item);
  state.list().InsertAfter(compressed_item, item);
  state.tracker().NoteEnded(compressed_item);
  state.tracker().AddUses(compressed_item);

  HloInstruction* uncompressed = state.policy().edits.Add(
      computation,
      HloInstruction::CreateUnary(original->shape(), HloOpcode::kCopy,
                                  compressed),
      absl::StrCat(original->name(), ".remat_uncompressed"));
  RedirectOptions options;
  options.heed_operand_readers = false;
  RematChange change;
  TF_ASSIGN_OR_RETURN(const RematItemId uncompressed_item,
                      RedirectUnplacedReaders(state, item, uncompressed,
                                              options, &change.net_added));
  state.Denylist(uncompressed_item);
  if (state.policy().on_rematerialized) {
    TF_RETURN_IF_ERROR(
        state.policy().on_rematerialized(original, uncompressed));
  }
  change.rematerialized = 1;
  change.net_added += 2;
  return change;
}

}  // namespace xla
