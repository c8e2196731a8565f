#include "xla/backends/gpu/fusion/labeled_list.h"

#include <cstdint>

namespace xla::gpu {
namespace {

// Labels are below 2^kBits.
constexpr int kBits = 62;
constexpr double kSparse = 2 / 1.3;

}  // namespace

LabeledList::LabeledList(Item items)
    : next_(items + 1),
      previous_(items + 1),
      labels_(items + 1, 0),
      front_(items) {
  for (Item i = 0; i <= items; ++i) {
    next_[i] = i == items ? 0 : i + 1;
    previous_[i] = i == 0 ? items : i - 1;
  }
  const int64_t step = (int64_t{1} << kBits) / (int64_t{items} + 1);
  Label(next_[front_], items, step, step);
}

void LabeledList::Label(Item first, int64_t count, int64_t label,
                        int64_t step) {
  for (Item item = first; count > 0; item = next_[item], --count) {
    labels_[item] = label;
    label += step;
    ++labels_given_;
  }
}

void LabeledList::Remove(Item item) {
  next_[previous_[item]] = next_[item];
  previous_[next_[item]] = previous_[item];
}

void LabeledList::Replace(Item old, Item item) {
  const Item before = previous_[old];
  Remove(old);
  labels_[item] = labels_[old];
  previous_[item] = before;
  next_[item] = next_[before];
  previous_[next_[item]] = item;
  next_[before] = item;
}

void LabeledList::InsertAfter(absl::Span<const Item> items, Item place) {
  if (items.empty()) return;
  const Item end = next_[place];
  Item last = place;
  for (Item item : items) {
    previous_[item] = last;
    next_[last] = item;
    last = item;
  }
  next_[last] = end;
  previous_[end] = last;
  const int64_t count = static_cast<int64_t>(items.size());
  const int64_t low = labels_[place];
  const int64_t high = end == front_ ? int64_t{1} << kBits : labels_[end];
  const int64_t step = (high - low) / (count + 1);
  if (step == 0) return LabelSurroundings(items.front(), last, count);
  Label(items.front(), count, low + step, step);
}

void LabeledList::LabelSurroundings(Item first, Item last, int64_t count) {
  // Labels base … base + 2^i - 1, and the items that have them: those between
  // two that are known, which grow with i.
  const int64_t label = labels_[previous_[first]];
  double room = 1;
  for (int i = 1; i <= kBits; ++i) {
    room *= kSparse;
    const int64_t base = label >> i << i;
    const int64_t end = base + (int64_t{1} << i);
    while (previous_[first] != front_ && labels_[previous_[first]] >= base) {
      first = previous_[first];
      ++count;
    }
    while (next_[last] != front_ && labels_[next_[last]] < end) {
      last = next_[last];
      ++count;
    }
    if (static_cast<double>(count) < room || i == kBits) {
      return Label(first, count, base, (int64_t{1} << i) / count);
    }
  }
}

}  // namespace xla::gpu
