#ifndef XLA_HLO_ANALYSIS_HEAP_BREADTH_FIRST_MIDPOINT_ITERATOR_H_
#define XLA_HLO_ANALYSIS_HEAP_BREADTH_FIRST_MIDPOINT_ITERATOR_H_

#include <deque>

namespace xla {

// The integers of [start, end]: the midpoint (rounded up), then those of the
// two halves that it leaves, then those of the quarters, and so on; halves
// without integers are passed over.
//
//   for (it.Begin(); !it.End(); it.Next()) use(it.value());
//   [1, 5] → 3, 2, 5, 1, 4
//
// A new iterator is at the first integer without Begin().
class BreadthFirstMidpointIterator {
 public:
  BreadthFirstMidpointIterator(int start, int end)
      : initial_({start, end}), value_(start) {
    Begin();
  }

  // There must be one: not at the end.
  int value() const { return value_; }
  void Begin() {
    work_ = {initial_};
    is_at_end_ = false;
    Next();
  }
  void Next() {
    while (!work_.empty()) {
      const WorkItem item = work_.front();
      work_.pop_front();
      if (item.start > item.end) continue;
      value_ = item.end - (item.end - item.start) / 2;
      work_.push_back({item.start, value_ - 1});
      work_.push_back({value_ + 1, item.end});
      return;
    }
    is_at_end_ = true;
  }
  bool End() const { return is_at_end_; }

 private:
  struct WorkItem {
    int start;
    int end;
  };

  WorkItem initial_;
  int value_;
  bool is_at_end_ = true;
  std::deque<WorkItem> work_;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_HEAP_BREADTH_FIRST_MIDPOINT_ITERATOR_H_
