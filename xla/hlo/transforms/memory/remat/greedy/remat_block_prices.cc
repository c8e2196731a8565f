#include "xla/hlo/transforms/memory/remat/greedy/remat_block_prices.h"

#include "absl/algorithm/container.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/transforms/memory/remat/greedy/remat_offload.h"
#include "xla/hlo/transforms/memory/remat/greedy/remat_rewriter.h"

namespace xla {

bool RematBlockPrices::Eligible(RematItemId item) {
  return state_.tracker().placed(item) &&
         item != state_.tracker().in_progress() && !state_.denylisted(item) &&
         state_.rematerializable(item);
}

// Conditions under which recomputing an instruction here would be wrong or
// pointless, whatever the price.
bool RematBlockPrices::Forbidden(RematItemId id) {
  const RematBuffers& buffers = state_.buffers();
  const RematBuffers::Item& item = buffers.item(id);
  const bool direct_only = state_.policy().direct_uses_only;
  if (direct_only && (item.output_count != 1 || state_.only_moves(id))) {
    return true;
  }
  for (RematBufferId b : buffers.outputs(item)) {
    const RematBuffer& buffer = buffers.buffer(b);
    // What moves may read, and hand on, what others do.
    if (state_.only_moves(id)) continue;
    if (buffer.live_out || buffer.indirect || buffer.nested ||
        state_.tracker().in_use(b)) {
      return true;
    }
    if (!direct_only) continue;
    for (RematItemId user : buffer.users) {
      if (!absl::c_linear_search(state_.instruction(user)->operands(),
                                 item.instruction)) {
        return true;
      }
    }
  }
  if (!item.has_control_successors) return false;
  for (const HloInstruction* after : item.instruction->control_successors()) {
    if (state_.tracker().placed(buffers.Find(after))) return true;
  }
  return false;
}

bool RematBlockPrices::HasPlacedUser(RematItemId id) {
  const RematBuffers::Item& item = state_.buffers().item(id);
  const RematMemoryTracker& tracker = state_.tracker();
  if (item.defined_count == 0) {
    return absl::c_any_of(item.instruction->users(),
                          [&](const HloInstruction* user) {
                            return tracker.placed(state_.buffers().Find(user));
                          });
  }
  for (int32_t i = 0; i < item.defined_count; ++i) {
    const auto& users = state_.buffers().buffer(item.first_defined + i).users;
    if (!users.empty() && tracker.placed(users.front())) return true;
  }
  return false;
}

bool RematBlockPrices::IsReadUpTo(RematItemId id, RematItemId last) const {
  for (const HloInstruction* user : state_.instruction(id)->users()) {
    const RematItemId reader = state_.buffers().Find(user);
    if (state_.tracker().placed(reader) &&
        (reader == state_.tracker().in_progress() ||
         state_.list().Precedes(last, reader))) {
      return false;
    }
  }
  return true;
}

bool RematBlockPrices::DefinesLive(RematItemId id) const {
  const RematBuffers::Item& item = state_.buffers().item(id);
  for (int32_t i = 0; i < item.defined_count; ++i) {
    if (state_.tracker().live(item.first_defined + i)) return true;
  }
  return false;
}

// Net effect on live bytes at the current point: what the item defines is
// freed, and dead buffers that it would have to read again come back to life,
// unless they are produced inside the block itself.
int64_t RematBlockPrices::BytesFreed(RematItemId id, RematItemId first) {
  const RematBuffers& buffers = state_.buffers();
  const RematMemoryTracker& tracker = state_.tracker();
  const RematBuffers::Item& item = buffers.item(id);
  int64_t bytes = 0;
  for (int32_t i = 0; i < item.defined_count; ++i) {
    const RematBufferId b = item.first_defined + i;
    if (tracker.live(b)) bytes += buffers.buffer(b).bytes;
  }
  for (RematBufferId b : item.used) {
    const RematBuffer& buffer = buffers.buffer(b);
    if (buffer.bytes == 0 || tracker.live(b)) continue;
    // Made inside the block, which is in a row.
    if (!state_.list().Precedes(buffer.definer, first)) continue;
    if (!state_.policy().count_each_read) {
      if (absl::c_linear_search(revived_, b)) continue;
      revived_.push_back(b);
    }
    bytes -= buffer.bytes;
  }
  return bytes;
}

void RematBlockPrices::ConsiderSingle(RematItemId item,
                                      std::optional<RematCandidate>& best,
                                      double* ready_seconds) {
  const auto consider = [&](RematStrategy strategy, int64_t bytes) {
    if (bytes <= 0) return;
    const int64_t cost = limit_bytes_ / bytes;
    if (!best.has_value() || cost < best->cost) {
      best = RematCandidate{item, 1, strategy, cost};
    }
  };
  if (state_.policy().compress) {
    consider(RematStrategy::kCompress, BytesFreedByCompression(state_, item));
  }
  if (state_.policy().host_offload) {
    consider(RematStrategy::kHostOffload,
             BytesFreedByOffload(state_, item, ready_seconds));
  }
}

// Extends the block one item at a time and keeps the best size within the
// range. Items that only move data may end a block only if nothing outside has
// read them.
std::optional<RematCandidate> RematBlockPrices::BestAt(RematItemId first,
                                                       int32_t min_size,
                                                       int32_t max_size,
                                                       double* ready_seconds) {
  std::optional<RematCandidate> best;
  // One that is dead frees nothing, whatever the way.
  if (max_size == 1 && !DefinesLive(first)) return best;
  const int64_t smallest = state_.policy().min_remat_size;
  if (smallest > 0 && !state_.is_new(first) &&
      state_.DefinedBytes(first) < smallest) {
    return best;
  }
  int64_t bytes = 0;
  bool has_placed_user = false;
  revived_.clear();
  moves_.clear();
  int32_t size = 0;
  for (RematItemId item = first; item != kNoRematItem && size < max_size;
       item = state_.list().next(item)) {
    if (!Eligible(item) || Forbidden(item)) break;
    ++size;
    if (size == 1 && min_size == 1) ConsiderSingle(item, best, ready_seconds);
    if (!state_.policy().recompute) break;
    bytes += BytesFreed(item, first);
    has_placed_user = has_placed_user || HasPlacedUser(item);
    if (state_.only_moves(item)) moves_.push_back(item);
    if (size < min_size || bytes <= 0) continue;
    if (!absl::c_all_of(
            moves_, [&](RematItemId move) { return IsReadUpTo(move, item); })) {
      continue;
    }
    const int64_t cost = has_placed_user ? limit_bytes_ / bytes : 0;
    if (!best.has_value() || cost < best->cost) {
      best = RematCandidate{first, size, RematStrategy::kRecompute, cost};
    }
  }
  return best;
}

}  // namespace xla
