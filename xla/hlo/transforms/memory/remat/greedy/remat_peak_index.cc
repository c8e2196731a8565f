#include "xla/hlo/transforms/memory/remat/greedy/remat_peak_index.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/algorithm/container.h"

// Square-root decomposition: items in schedule order, in chunks of about
// sqrt(n). A chunk stores its net change and its highest prefix, so the peak of
// the computation is a scan over chunks, and an update invalidates only the
// chunks it touches. A chunk that grows to twice its size is split.

namespace xla {
namespace {

constexpr size_t kLeastChunkSize = 32;

}  // namespace

RematPeakIndex::RematPeakIndex(
    RematComputation* state,
    absl::FunctionRef<int64_t(const HloInstruction&)> inside)
    : state_(*state),
      chunk_size_(std::max(
          kLeastChunkSize,
          static_cast<size_t>(std::sqrt(state->buffers().item_count())))) {
  needs_.resize(state_.buffers().item_count());
  lives_.resize(state_.buffers().buffer_count());
  const RematInstructionList& list = state_.list();
  for (RematItemId item = list.first(); item != kNoRematItem;
       item = list.next(item)) {
    if (chunks_.empty() || chunks_.back().items.size() >= chunk_size_) {
      order_.push_back(static_cast<int32_t>(chunks_.size()));
      chunks_.emplace_back();
    }
    chunks_.back().items.push_back(item);
    needs_[item].chunk = order_.back();
    if (state_.buffers().item(item).runs_computations) callers_.push_back(item);
  }
  for (RematBufferId b = 0; b < state_.buffers().buffer_count(); ++b) {
    UpdateLife(b);
  }
  UpdateInside(inside);
  state_.tracker().RecordRewrites(&rewrites_);
}

RematPeakIndex::~RematPeakIndex() {
  state_.tracker().StopRecording(&rewrites_);
}

void RematPeakIndex::UpdateInside(
    absl::FunctionRef<int64_t(const HloInstruction&)> inside) {
  for (RematItemId item : callers_) {
    const int64_t bytes = inside(*state_.instruction(item));
    if (bytes == needs_[item].inside) continue;
    needs_[item].inside = bytes;
    Touch(item);
  }
}

void RematPeakIndex::Touch(RematItemId item) {
  if (needs_[item].chunk >= 0) chunks_[needs_[item].chunk].counted = false;
}

void RematPeakIndex::UpdateLife(RematBufferId id) {
  const RematBuffer& buffer = state_.buffers().buffer(id);
  if (buffer.bytes == 0) return;
  Life now;
  if (state_.list().contains(buffer.definer)) {
    now.from = buffer.definer;
    now.to = buffer.users.empty() ? buffer.definer : buffer.users.back();
  }
  Life& life = lives_[id];
  if (life.from == now.from && life.to == now.to) return;
  for (const auto& [at, bytes] :
       {std::pair(life, -buffer.bytes), std::pair(now, buffer.bytes)}) {
    if (at.from == kNoRematItem) continue;
    needs_[at.from].opened += bytes;
    needs_[at.to].closed += bytes;
    Touch(at.from);
    Touch(at.to);
  }
  life = now;
}

// All touched items leave their chunks before any is placed again: an item goes
// right after its predecessor in the list, and if that one had moved too and
// still stood in its old chunk, the item would land there. Lives follow last,
// since they touch the chunks of their two ends.
void RematPeakIndex::TakeRewrites() {
  needs_.resize(state_.buffers().item_count());
  lives_.resize(state_.buffers().buffer_count());
  rewrites_.Sort();
  for (RematItemId item : rewrites_.items) Remove(item);
  for (RematItemId item : rewrites_.items) Insert(item);
  for (RematBufferId b : rewrites_.buffers) UpdateLife(b);
  rewrites_.Clear();
}

void RematPeakIndex::Remove(RematItemId item) {
  int32_t& chunk = needs_[item].chunk;
  if (chunk < 0) return;
  std::vector<RematItemId>& items = chunks_[chunk].items;
  items.erase(absl::c_find(items, item));
  chunks_[chunk].counted = false;
  chunk = -1;
}

void RematPeakIndex::Insert(RematItemId item) {
  const RematInstructionList& list = state_.list();
  // Those before it that are missing too, first.
  std::vector<RematItemId> missing;
  while (item != kNoRematItem && list.contains(item) &&
         needs_[item].chunk < 0) {
    missing.push_back(item);
    item = list.prev(item);
  }
  for (auto it = missing.rbegin(); it != missing.rend(); ++it) {
    InsertAfter(*it, list.prev(*it));
  }
}

void RematPeakIndex::InsertAfter(RematItemId item, RematItemId before) {
  const int32_t chunk =
      before == kNoRematItem ? order_.front() : needs_[before].chunk;
  std::vector<RematItemId>& items = chunks_[chunk].items;
  const auto place =
      before == kNoRematItem ? items.begin() : absl::c_find(items, before) + 1;
  items.insert(place, item);
  needs_[item].chunk = chunk;
  chunks_[chunk].counted = false;
  if (items.size() > 2 * chunk_size_) Split(chunk);
}

// A chunk is split at twice its usual size, so that after many insertions in
// one place a recount still takes O(√n).
void RematPeakIndex::Split(int32_t chunk) {
  const int32_t added = static_cast<int32_t>(chunks_.size());
  chunks_.emplace_back();
  std::vector<RematItemId>& items = chunks_[chunk].items;
  chunks_[added].items.assign(items.begin() + chunk_size_, items.end());
  items.resize(chunk_size_);
  for (RematItemId item : chunks_[added].items) needs_[item].chunk = added;
  order_.insert(absl::c_find(order_, chunk) + 1, added);
}

void RematPeakIndex::Count(Chunk& chunk) {
  int64_t before = 0;
  chunk.highest = 0;
  for (size_t i = 0; i < chunk.items.size(); ++i) {
    const Needs& needs = needs_[chunk.items[i]];
    const int64_t here = before + needs.opened + needs.inside;
    if (i == 0 || here > chunk.highest) chunk.highest = here;
    before += needs.opened - needs.closed;
  }
  chunk.sum = before;
  chunk.counted = true;
}

// Square root decomposition: what is live at an item is the sum of opened -
// closed over all items before it plus what the item itself needs, so a chunk
// whose sum and highest prefix are known is passed in one step. Of n items in
// chunks of √n, a query costs O(√n) for the chunks, O(√n) for the items of the
// best one, and a recount of every chunk that a rewrite has touched since. Of
// several items at the same height the first is given.
RematItemId RematPeakIndex::Highest(int64_t* bytes) {
  TakeRewrites();
  *bytes = 0;
  int64_t before = 0, before_best = 0;
  const Chunk* best = nullptr;
  for (int32_t index : order_) {
    Chunk& chunk = chunks_[index];
    if (!chunk.counted) Count(chunk);
    if (!chunk.items.empty() && before + chunk.highest > *bytes) {
      *bytes = before + chunk.highest;
      best = &chunk;
      before_best = before;
    }
    before += chunk.sum;
  }
  if (best == nullptr) return kNoRematItem;
  for (RematItemId item : best->items) {
    const Needs& needs = needs_[item];
    if (before_best + needs.opened + needs.inside == *bytes) return item;
    before_best += needs.opened - needs.closed;
  }
  return kNoRematItem;
}

}  // namespace xla
