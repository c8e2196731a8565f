#ifndef XLA_HLO_MEMORY_GRAPH_ORDER_CHAIN_H_
#define XLA_HLO_MEMORY_GRAPH_ORDER_CHAIN_H_

#include <cstdint>
#include <tuple>
#include <vector>

#include "absl/container/btree_set.h"

namespace xla {

// A best order of steps that each change memory by a fixed amount, built from
// those of smaller parts:
//
//   Append:  all of A, then all of B            (A ──► B)
//   Merge:   A and B, nothing between them      (A ∥ B)
//
// An order is a chain of segments. A segment rises to a hill and ends in a
// valley, both counted from where it begins; steps of one segment run side by
// side in some best order, whatever runs beside the chain, and segments of a
// chain stand in the order in which they would run if nothing held them:
//
//   falling ones (valley < 0) first, those with low hills first;
//   then rising ones, those that come down most from their hill first.
//
//        hill                  neighbors that do not stand so become one
//     ╭──╮    ╭──╮             segment: the valley between them is not worth
//   ──╯  ╰────╯  ╰── valley    a stop
//
// So a merge takes the segments of both by that rule, and any series-parallel
// combination keeps a lowest peak: Abdel-Wahab and Kameda, "Scheduling to
// Minimize Maximum Cumulative Cost Subject to Series-Parallel Precedence
// Constraints" (Operations Research 26, 1978). For trees, whose segments all
// rise, this is Liu's "An Application of Generalized Tree Pebbling to Sparse
// Matrix Factorization" (SIAM J. Alg. Disc. Meth. 8, 1987); the division into
// falling and rising parts is the cut of Kayaaslan et al., "Scheduling
// series-parallel task graphs to minimize peak memory" (TCS 707, 2018).
//
// O(n log^2 n) for a tree of operations with n steps: the shorter chain moves.
class OrderChain {
 public:
  struct Segment {
    // Bytes live at most and at the end, relative to the start.
    int64_t hill;
    int64_t valley;
    // First and last step; the pool links them.
    int32_t first;
    int32_t last;
  };

  // Steps of segments as linked lists: one for all chains that may meet.
  class Pool {
   public:
    explicit Pool(int32_t steps) : next_(steps, -1) {}
    std::vector<int32_t> Steps(const Segment& segment) const;

   private:
    friend class OrderChain;
    std::vector<int32_t> next_;
  };

  // No steps.
  OrderChain() = default;
  // One step, which rises by `hill` >= max(0, valley) bytes at its worst moment
  // and by `valley` in all.
  OrderChain(int32_t step, int64_t hill, int64_t valley);

  // Moves the steps of `other`, which becomes empty, after those of this.
  void Append(OrderChain* other, Pool* pool);
  // Moves them here without an order between the two.
  void Merge(OrderChain* other);

  std::vector<Segment> segments() const;
  // The most bytes live during the chain, relative to its start.
  int64_t Hill() const;

 private:
  // Ties are broken by the first step's number.
  struct Before {
    bool operator()(const Segment& a, const Segment& b) const {
      return Key(a) < Key(b);
    }
    static std::tuple<bool, int64_t, int32_t> Key(const Segment& a) {
      bool rises = a.valley >= 0;
      return {rises, rises ? a.valley - a.hill : a.hill, a.first};
    }
  };
  // Whether two segments that follow each other in the chain are in order.
  static bool InOrder(const Segment& first, const Segment& second);
  static Segment Join(const Segment& first, const Segment& second, Pool* pool);

  absl::btree_set<Segment, Before> segments_;
};

}  // namespace xla

#endif  // XLA_HLO_MEMORY_GRAPH_ORDER_CHAIN_H_
