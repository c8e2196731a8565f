#include "xla/hlo/transforms/memory/remat/greedy/remat_offload.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// Where the four ends of the two copies go.
struct Transfers {
  int64_t bytes = 0;
  RematItemId end_before = kNoRematItem;  // the copy to the host ends before it
  RematItemId begin_before = kNoRematItem;  // the copy back begins before it
};

double EndSeconds(RematComputation& state, RematItemId item) {
  const RematItemId next = state.list().next(item);
  return next == kNoRematItem ? state.total_seconds()
                              : state.start_seconds()[next];
}

// Whether all readers read the array itself.
bool OnlyDirectReaders(const RematComputation& state, RematItemId item,
                       const RematBuffer& buffer) {
  return absl::c_all_of(buffer.users, [&](RematItemId user) {
    const HloInstruction* inst = state.instruction(user);
    return inst->opcode() != HloOpcode::kBitcast &&
           inst->opcode() != HloOpcode::kTuple &&
           absl::c_linear_search(inst->operands(), state.instruction(item));
  });
}

// Whether both copies fit around the current point. By the estimated times, the
// copy to the host must be done before the current instruction starts, and the
// copy back must be able to start after it and end before the first remaining
// reader. If the first condition alone fails, `*ready_seconds` says when it
// will hold.
std::optional<Transfers> Fit(RematComputation& state, RematItemId id,
                             bool with_places, double* ready_seconds) {
  *ready_seconds = -1;
  const RematBuffers::Item& item = state.buffers().item(id);
  if (!state.policy().host_memory.has_value() || item.defined_count != 1 ||
      item.output_count != 1 || !item.instruction->shape().IsArray() ||
      state.is_new(id)) {
    return std::nullopt;
  }
  const RematBufferId b = item.first_defined;
  const RematBuffer& buffer = state.buffers().buffer(b);
  const RematItemId first = state.tracker().FirstUnplacedUser(b);
  const RematItemId now = state.tracker().in_progress();
  if (buffer.bytes == 0 || !state.tracker().live(b) || first == kNoRematItem ||
      now == kNoRematItem || !OnlyDirectReaders(state, id, buffer)) {
    return std::nullopt;
  }
  const RematHostMemory& host = *state.policy().host_memory;
  const std::vector<double>& start = state.start_seconds();
  const double there =
      EndSeconds(state, id) +
      static_cast<double>(buffer.bytes) / host.to_host_bytes_per_second;
  const double back = start[first] - static_cast<double>(buffer.bytes) /
                                         host.from_host_bytes_per_second;
  if (back < EndSeconds(state, now)) return std::nullopt;
  if (there > start[now]) {
    *ready_seconds = there;
    return std::nullopt;
  }
  Transfers transfers;
  transfers.bytes = buffer.bytes;
  if (!with_places) return transfers;
  transfers.end_before = state.list().next(id);
  while (transfers.end_before != now && start[transfers.end_before] < there) {
    transfers.end_before = state.list().next(transfers.end_before);
  }
  transfers.begin_before = first;
  while (start[transfers.begin_before] > back) {
    const RematItemId prev = state.list().prev(transfers.begin_before);
    if (prev == now) break;
    transfers.begin_before = prev;
  }
  return transfers;
}

Shape InMemorySpace(const Shape& shape, int64_t memory_space) {
  Shape result = shape;
  if (!result.has_layout()) LayoutUtil::SetToDefaultLayout(&result);
  result.mutable_layout()->set_memory_space(memory_space);
  return result;
}

HloInstruction* AddCopyStart(RematComputation& state, HloInstruction* from,
                             const Shape& to, const std::string& name) {
  const Shape shape = ShapeUtil::MakeTupleShape(
      {to, from->shape(), ShapeUtil::MakeShape(U32, {})});
  return state.policy().edits.Add(
      state.computation(), HloInstruction::CreateCopyStart(shape, from), name);
}

}  // namespace

int64_t BytesFreedByOffload(RematComputation& state, RematItemId item,
                            double* ready_seconds) {
  const std::optional<Transfers> transfers =
      Fit(state, item, /*with_places=*/false, ready_seconds);
  return transfers ? transfers->bytes : 0;
}

// Adds two pairs of copy-start and copy-done. The pair to the host lies
// entirely before the current point, so it has to be registered as already
// executed.
absl::StatusOr<RematChange> OffloadToHost(RematComputation& state,
                                          RematItemId item) {
  double ready_seconds;
  const std::optional<Transfers> transfers =
      Fit(state, item, /*with_places=*/true, &ready_seconds);
  TF_RET_CHECK(transfers.has_value());
  HloComputation* computation = state.computation();
  HloInstruction* original = state.instruction(item);
  const Shape on_host = InMemorySpace(original->shape(),
                                      state.policy().host_memory->memory_space);
  // Takes in an instruction that is over when the point reached comes.
  const auto add_ended =
      [&](HloInstruction* inst,
          RematItemId before) -> absl::StatusOr<RematItemId> {
    TF_ASSIGN_OR_RETURN(const RematItemId id, state.AddNewItem(inst));
    state.Denylist(id);
    state.list().InsertBefore(id, before);
    state.TakeNoTime(id);
    state.tracker().NoteEnded(id);
    state.tracker().AddUses(id);
    return id;
  };
  HloInstruction* start_there =
      AddCopyStart(state, original, on_host,
                   absl::StrCat(original->name(), ".remat_to_host_start"));
  TF_RETURN_IF_ERROR(add_ended(start_there, state.list().next(item)).status());
  HloInstruction* done_there = state.policy().edits.Add(
      computation,
      HloInstruction::CreateUnary(on_host, HloOpcode::kCopyDone, start_there),
      absl::StrCat(original->name(), ".remat_to_host_done"));
  TF_RETURN_IF_ERROR(add_ended(done_there, transfers->end_before).status());

  HloInstruction* start_back =
      AddCopyStart(state, done_there, original->shape(),
                   absl::StrCat(original->name(), ".remat_from_host_start"));
  TF_ASSIGN_OR_RETURN(const RematItemId begin, state.AddNewItem(start_back));
  state.Denylist(begin);
  state.list().InsertBefore(begin, transfers->begin_before);
  state.TakeNoTime(begin);
  state.tracker().AddUses(begin);
  HloInstruction* done_back = state.policy().edits.Add(
      computation,
      HloInstruction::CreateUnary(original->shape(), HloOpcode::kCopyDone,
                                  start_back),
      absl::StrCat(original->name(), ".remat_from_host_done"));
  RedirectOptions options;
  options.heed_operand_readers = false;
  RematChange change;
  TF_ASSIGN_OR_RETURN(const RematItemId end,
                      RedirectUnplacedReaders(state, item, done_back, options,
                                              &change.net_added));
  state.Denylist(end);
  if (state.policy().on_rematerialized) {
    TF_RETURN_IF_ERROR(state.policy().on_rematerialized(original, done_back));
  }
  change.rematerialized = 1;
  change.net_added += 4;
  return change;
}

}  // namespace xla
