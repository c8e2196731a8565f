#include "xla/backends/gpu/lowering/reduction_results.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>

#include "absl/algorithm/container.h"
#include "xla/backends/gpu/lowering/reduction_lowering.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace xla::gpu {
namespace {

int64_t Product(absl::Span<const int64_t> extents) {
  int64_t product = 1;
  for (int64_t extent : extents) product *= extent;
  return product;
}

// The operand through which a way continues; -1: none.
int64_t StepOperand(const HloInstruction& hlo, const ReductionLevels& levels) {
  if (!HasResultMap(hlo) || !hlo.shape().IsArray()) return -1;
  int64_t best = -1;
  for (int64_t i = 0; i < hlo.operand_count(); ++i) {
    const HloInstruction& operand = *hlo.operand(i);
    if (!operand.shape().IsArray() || ShapeUtil::ElementsIn(operand.shape()) !=
                                          ShapeUtil::ElementsIn(hlo.shape())) {
      continue;
    }
    if (best < 0 || levels.Of(operand) > levels.Of(*hlo.operand(best))) {
      best = i;
    }
  }
  return best;
}

bool IsRowMajor(const Shape& shape) {
  return absl::c_is_sorted(LongDimensions(shape));
}

// Neighboring dimensions of the operand that are all reduced, or all kept, as
// one each: whether they are reduced, and their elements.
std::vector<std::pair<bool, int64_t>> Runs(const HloInstruction& reduce) {
  std::vector<std::pair<bool, int64_t>> runs;
  const Shape& input = reduce.operand(0)->shape();
  for (int64_t d : LongDimensions(input)) {
    const bool reduced = absl::c_linear_search(reduce.dimensions(), d);
    if (runs.empty() || runs.back().first != reduced) {
      runs.emplace_back(reduced, 1);
    }
    runs.back().second *= input.dimensions(d);
  }
  return runs;
}

// Whether elements with the same number are of the same row and column: in
// arrays of one shape, or in row-major ones that are bitcasts of each other.
bool SameReduction(const HloInstruction& a, const HloInstruction& b) {
  const Shape &x = a.operand(0)->shape(), &y = b.operand(0)->shape();
  return x.dimensions() == y.dimensions()
             ? absl::c_is_permutation(a.dimensions(), b.dimensions())
             : IsRowMajor(x) && IsRowMajor(y) && Runs(a) == Runs(b);
}

ReductionGroup MakeGroup(const HloInstruction& reduce) {
  ReductionGroup group;
  group.heroes = {&reduce};
  const Shape& input = reduce.operand(0)->shape();
  for (int64_t d : MemoryOrder(input)) {
    const int64_t extent = input.dimensions(d);
    const bool reduced = absl::c_linear_search(reduce.dimensions(), d);
    (reduced ? group.columns : group.rows) *= extent;
    if (extent > 1) group.row = reduced;
  }
  return group;
}

// Instructions of the body that the result is computed from.
std::set<const HloInstruction*> Cone(
    const HloInstruction& result, const std::set<const HloInstruction*>& body) {
  std::set<const HloInstruction*> cone;
  std::vector<const HloInstruction*> queue = {&result};
  while (!queue.empty()) {
    const HloInstruction* hlo = queue.back();
    queue.pop_back();
    if (body.count(hlo) == 0 || !cone.insert(hlo).second) continue;
    queue.insert(queue.end(), hlo->operands().begin(), hlo->operands().end());
  }
  return cone;
}

// Walks from the result towards the reduction through instructions that only
// rearrange elements, until the shape is that of the rows or of the full input.
// If the walk gets stuck, elements are identified by their row-major number
// instead, which every array of as many elements has: that in the first array
// on the walk that lies in this order, as rows mostly do, else in the result.
std::optional<ResultWay> FindWay(const KernelFrame::Result& result,
                                 const std::vector<int64_t>& full,
                                 const std::vector<int64_t>& kept,
                                 const ReductionLevels& levels) {
  const int64_t count = ShapeUtil::ElementsIn(result.shape);
  ResultWay way;
  way.full = count == Product(full);
  if (!way.full && count != Product(kept)) return std::nullopt;
  way.extents = way.full ? full : kept;
  const Shape* shape = &result.shape;
  const HloInstruction* hlo = result.hlo;
  std::optional<size_t> row_major;
  while (!absl::c_equal(shape->dimensions(), way.extents)) {
    if (!row_major.has_value() && IsRowMajor(*shape)) {
      row_major = way.steps.size();
    }
    const int64_t operand = StepOperand(*hlo, levels);
    if (operand < 0) {
      way.steps.resize(row_major.value_or(0));
      way.by_number = true;
      return way;
    }
    way.steps.emplace_back(hlo, operand);
    hlo = hlo->operand(operand);
    shape = &hlo->shape();
  }
  return way;
}

}  // namespace

std::vector<int64_t> KeptExtents(const HloInstruction& reduce) {
  const Shape& input = reduce.operand(0)->shape();
  std::vector<int64_t> extents;
  for (int64_t d = 0; d < static_cast<int64_t>(input.dimensions().size());
       ++d) {
    if (!absl::c_linear_search(reduce.dimensions(), d)) {
      extents.push_back(input.dimensions(d));
    }
  }
  return extents;
}

// The level of an instruction is the largest number of reductions of the group
// on a path to it. All reductions of one level can be computed in one pass over
// the columns.
ReductionLevels::ReductionLevels(
    absl::Span<const HloInstruction* const> body,
    absl::Span<const HloInstruction* const> heroes) {
  for (const HloInstruction* hlo : body) {
    levels_[hlo] = OfOperands(*hlo) + absl::c_linear_search(heroes, hlo);
  }
}

int ReductionLevels::Of(const HloInstruction& hlo) const {
  const auto level = levels_.find(&hlo);
  return level == levels_.end() ? 0 : level->second;
}

int ReductionLevels::OfOperands(const HloInstruction& hlo) const {
  int level = 0;
  for (const HloInstruction* operand : hlo.operands()) {
    level = std::max(level, Of(*operand));
  }
  return level;
}

Indices ResultWay::Follow(Indices places, const Shape& result,
                          const AffineExpr::Ranges& ranges) const {
  if (by_number) {
    const Shape& numbered =
        steps.empty()
            ? result
            : steps.back().first->operand(steps.back().second)->shape();
    places = SameNumber(places, extents, numbered.dimensions(), ranges);
  }
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    places = ResultIndices(*step->first, step->second, places, ranges);
  }
  return places;
}

std::optional<ResultWay> FindResultWay(const KernelFrame::Result& result,
                                       const HloInstruction& reduce,
                                       const ReductionLevels& levels) {
  const auto& input = reduce.operand(0)->shape().dimensions();
  return FindWay(result, {input.begin(), input.end()}, KeptExtents(reduce),
                 levels);
}

std::optional<ResultWay> FindElementWay(const KernelFrame::Result& result,
                                        const Shape& place,
                                        const ReductionLevels& levels) {
  const std::vector<int64_t> extents(place.dimensions().begin(),
                                     place.dimensions().end());
  return FindWay(result, extents, extents, levels);
}

// Partitions the results of a fusion among groups of like reductions
// (SameReduction), largest group first. A result goes to a group that has a
// reduction behind it and whose loop can produce it; results without one join a
// group if they have the shape of its input, because they can be written while
// its columns are read. Reductions that no result of their group needs are
// dropped, and computed in place by their readers.
std::vector<ReductionGroup> FindReductionGroups(const KernelFrame& frame,
                                                int64_t min_columns,
                                                std::vector<bool> taken) {
  std::vector<ReductionGroup> groups;
  for (const HloInstruction* hlo : frame.body()) {
    if (hlo->opcode() != HloOpcode::kReduce) continue;
    const ReductionGroup own = MakeGroup(*hlo);
    if (own.columns < std::max<int64_t>(min_columns, 2) || own.rows == 0) {
      continue;
    }
    const auto known = absl::c_find_if(groups, [&](const ReductionGroup& g) {
      return SameReduction(*g.heroes[0], *hlo);
    });
    if (known == groups.end()) {
      groups.push_back(own);
    } else {
      known->heroes.push_back(hlo);
    }
  }
  absl::c_stable_sort(groups,
                      [](const ReductionGroup& a, const ReductionGroup& b) {
                        return a.rows * a.columns > b.rows * b.columns;
                      });
  // The first one has the indices that the others can be computed from without
  // divisions.
  for (ReductionGroup& group : groups) {
    absl::c_stable_sort(group.heroes,
                        [](const HloInstruction* a, const HloInstruction* b) {
                          return a->operand(0)->shape().dimensions().size() >
                                 b->operand(0)->shape().dimensions().size();
                        });
  }
  const std::set<const HloInstruction*> body(frame.body().begin(),
                                             frame.body().end());
  std::vector<std::set<const HloInstruction*>> cones;
  for (const KernelFrame::Result& result : frame.results()) {
    cones.push_back(Cone(*result.hlo, body));
  }
  // Results with a reduction behind them, then those along its rows.
  for (ReductionGroup& group : groups) {
    const ReductionLevels levels(frame.body(), group.heroes);
    for (size_t k = 0; k < cones.size(); ++k) {
      const bool needs = absl::c_any_of(
          group.heroes,
          [&](const HloInstruction* hero) { return cones[k].count(hero) > 0; });
      if (taken[k] || !needs ||
          !FindResultWay(frame.results()[k], *group.heroes[0], levels)) {
        continue;
      }
      taken[k] = true;
      group.results.push_back(k);
    }
  }
  for (ReductionGroup& group : groups) {
    // Reductions that no result of this part needs are computed by other parts
    // themselves.
    const auto unneeded = [&](const HloInstruction* hero) {
      return absl::c_none_of(
          group.results, [&](int64_t k) { return cones[k].count(hero) > 0; });
    };
    group.heroes.erase(
        std::remove_if(group.heroes.begin(), group.heroes.end(), unneeded),
        group.heroes.end());
    if (group.results.empty()) continue;
    const ReductionLevels levels(frame.body(), group.heroes);
    for (size_t k = 0; k < cones.size(); ++k) {
      if (taken[k]) continue;
      const auto way =
          FindResultWay(frame.results()[k], *group.heroes[0], levels);
      if (!way.has_value() || !way->full) continue;
      taken[k] = true;
      group.results.push_back(k);
    }
  }
  groups.erase(std::remove_if(groups.begin(), groups.end(),
                              [](const ReductionGroup& group) {
                                return group.results.empty();
                              }),
               groups.end());
  return groups;
}

}  // namespace xla::gpu
