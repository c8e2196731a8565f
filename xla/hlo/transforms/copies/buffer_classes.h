#ifndef XLA_HLO_TRANSFORMS_COPIES_BUFFER_CLASSES_H_
#define XLA_HLO_TRANSFORMS_COPIES_BUFFER_CLASSES_H_

#include <cstdint>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/transforms/copies/copy_sites.h"
#include "xla/hlo/transforms/copies/execution_line.h"
#include "xla/hlo/transforms/copies/live_intervals.h"

namespace xla {

// Which nodes share a buffer: starts with what `sites` unites, then coalesces
// the two sides of each copy that is not needed.
//
// Coalescing of copies as in translation out of SSA form (Boissinot et al.,
// Revisiting Out-of-SSA Translation for Correctness, Code Quality, and
// Efficiency, 2009): a class keeps the live intervals of its nodes in a search
// tree, and two classes become one if none overlap. The smaller class is merged
// into the larger one: O(n log^2 n) for all successful merges.
class BufferClasses {
 public:
  BufferClasses(const HloDataflowAnalysis& dataflow,
                const AliasInfo& alias_info, const CopySites& sites,
                const ExecutionLine& line);

  // Whether the two sides of the copy are, or have now become, one buffer.
  bool TryCoalesce(const CopySite& site);

  // A number shared by all nodes of the buffer, valid until one coalesces.
  int32_t BufferOf(int32_t node) { return Find(node); }
  // Whether the memory of the node must not be overwritten.
  bool IsReadOnly(int32_t node) { return classes_[Find(node)].is_read_only; }

 private:
  using Time = ExecutionLine::Time;
  // Stands for any value that an asynchronous chain computes. Two that start
  // together are one.
  static constexpr int32_t kHold = -1;
  struct Lives {
    Time end;
    int32_t node;
  };
  struct Class {
    // By start; disjoint.
    absl::btree_map<Time, Lives> lives;
    bool is_read_only = false;
    bool is_filled = false;
  };

  // The root of the node's class; initializes the class on first use.
  int32_t Find(int32_t node);
  void Fill(int32_t node);
  bool Unite(int32_t a, int32_t b);
  // Whether `b`, which starts after `a` ends, may directly follow it.
  bool MayFollow(const Lives& a, Time b_start, const Lives& b) const;
  bool MayInterfere(const Class& small, const Class& large) const;

  const HloDataflowAnalysis& dataflow_;
  const AliasInfo& alias_info_;
  const CopySites& sites_;
  const ExecutionLine& line_;
  const LiveIntervals intervals_;
  std::vector<int32_t> parents_;
  absl::flat_hash_map<int32_t, Class> classes_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_COPIES_BUFFER_CLASSES_H_
