#include "xla/backends/gpu/lowering/sort_lowering.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/kir_ops.h"
#include "xla/backends/gpu/lowering/index_maps.h"
#include "xla/backends/gpu/lowering/reduction_results.h"
#include "xla/backends/gpu/lowering/sort_emitter.h"
#include "xla/backends/gpu/lowering/sort_ranks.h"
#include "xla/backends/gpu/smem/smem_device.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/utils/comparator_order.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/util.h"

namespace xla::gpu {
namespace {

using kir::ElementType;
using kir::Operand;

// Elements from one place to the next that no other has a bank in common with.
constexpr int64_t kBanks = 32;
// In bytes: the most that plans of shared memory align a buffer to.
constexpr int64_t kAlignment = 16;

bool IsSort(const HloInstruction& hlo) {
  return hlo.opcode() == HloOpcode::kSort || hlo.opcode() == HloOpcode::kTopK;
}

// Whether equal elements need not be told apart by the places they came from:
// they are the same, or zeros of which nobody asks which comes first.
bool AreEqualsTheSame(const HloInstruction& hlo) {
  return hlo.opcode() == HloOpcode::kSort && hlo.operand_count() == 1 &&
         hlo.to_apply()->root_instruction()->opcode() == HloOpcode::kCompare &&
         hlo.to_apply()->instruction_count() == 3 &&
         (!Cast<HloSortInstruction>(&hlo)->is_stable() ||
          primitive_util::IsIntegralType(
              hlo.operand(0)->shape().element_type()));
}

// Steps of the network that a thread takes in registers, between two visits of
// shared memory. Each one more doubles a thread's elements, and the code.
int StepsOfVisit(const HloInstruction& hlo, bool keeps_places) {
  const int64_t code = hlo.opcode() == HloOpcode::kSort
                           ? hlo.to_apply()->instruction_count()
                           : kBanks;
  if (!keeps_places && code <= 8) return 3;
  return hlo.operand_count() <= 2 && code <= 16 ? 2 : 1;
}

// A bitonic sorting network (Batcher, Sorting networks and their applications,
// AFIPS 1968) on a row in shared memory. Its merges begin with mirrored pairs
// (i with size - 1 - i) in place of reversed halves, so that every comparator
// puts the lesser element in the lower place. A row whose length is no power of
// two is then sorted as if the places beyond it held elements after all others:
// these would never move, and their pairs are left out. The network is not
// stable; elements carry the places they came from where equal ones can be told
// apart.
//
// n elements take log2(n) * (log2(n) + 1) / 2 steps, with a barrier each. With
// `steps_` of them in registers, a thread takes 2^steps_ elements that are
// closed under these steps, and up to `steps_` times fewer barriers remain.
// Such elements lie a power of two apart, where lanes would meet in one bank:
// with a gap behind each 32 elements, lanes that read 8 neighbors each are in
// 32 different banks.
class TileSorter : public SortEmitter {
 public:
  TileSorter(const SortGroup& group, KernelFrame* frame)
      : SortEmitter(group, frame),
        keeps_places_(!AreEqualsTheSame(*group.hero)) {
    while (width_ < group.elements) width_ *= 2;
    // Rows of another length leave pairs out.
    int steps = 1;
    if (width_ == group.elements) steps = StepsOfVisit(sort_, keeps_places_);
    while ((int64_t{1} << steps) > width_ && steps > 1) --steps;
    SetSteps(steps);
  }

  // Whether the rows fit into so much shared memory; Emit() then sorts them.
  absl::StatusOr<bool> AddTiles(int64_t shared_bytes);
  absl::Status Emit();

 private:
  void SetSteps(int steps) {
    steps_ = steps;
    lanes_ = std::max<int64_t>(1, std::min(frame_.threads(), width_ >> steps));
    rows_per_block_ = frame_.threads() / lanes_;
  }
  // Calls `body` with the numbers up to `count` that are this lane's.
  absl::Status Each(int64_t count,
                    absl::FunctionRef<absl::Status(const AffineExpr&)> body);
  // Names for the indices of that place in this row.
  absl::Status Named(const AffineExpr& place,
                     absl::FunctionRef<absl::Status(const Indices&)> body);
  absl::Status Load();
  // The pairs of one step, `apart` places from each other or, in halves of
  // `size` places, mirrored.
  absl::Status Step(int64_t size, int64_t apart);
  absl::Status CompareAndSwap(const AffineExpr& left, const AffineExpr& right);
  // The elements of two places, of all tiles, in order.
  using Elements = std::vector<Operand>;
  absl::Status Exchange(Elements* left, Elements* right);
  // `steps` steps in registers, the first of them of pairs `apart` places from
  // each other in halves of `size` places; 0 apart: all steps of rows of
  // 2^steps.
  absl::Status Visit(int64_t size, int64_t apart, int64_t steps);
  // Takes a merge's steps of `elements`, the mirrored one first if it is one.
  absl::Status Merge(std::vector<Elements>* elements, bool mirrored);
  absl::Status Visits();
  // Whether the elements of one place go before those of the other.
  absl::StatusOr<Operand> Before(absl::Span<const Operand> a,
                                 absl::Span<const Operand> b) {
    return GoesBefore(a.first(sort_.operand_count()),
                      b.first(sort_.operand_count()));
  }
  absl::StatusOr<std::vector<Operand>> Results(const AffineExpr& place);
  absl::Status Write();
  void Join() {
    builder_.EmitSync(lanes_ <= kir::kWarpThreads ? kir::SyncScope::kWarp
                                                  : kir::SyncScope::kBlock);
  }
  Operand At(kir::BufferId tile, const AffineExpr& place) const {
    Operand operand;
    operand.buffer = tile;
    operand.indices = {
        team_, steps_ == 1
                   ? place
                   : place + AffineExpr::FloorDiv(place, AffineExpr(kBanks))};
    return operand;
  }
  Operand Value(kir::BufferId tile, const AffineExpr& place) {
    const Operand from = At(tile, place);
    return builder_.Emit("copy", builder_.TypeOf(from), {from});
  }

  const bool keeps_places_;
  int64_t width_ = 1;  // the power of two from the elements of a row
  int64_t lanes_ = 1;  // threads of a row
  int64_t rows_per_block_ = 1;
  int64_t steps_ = 1;  // of a visit
  // Tiles of the operands and, last, of the places that elements came from,
  // unless nobody reads them.
  std::vector<kir::BufferId> tiles_;
  AffineExpr team_, lane_, raw_row_;
};

absl::StatusOr<bool> TileSorter::AddTiles(int64_t shared_bytes) {
  std::vector<ElementType> types;
  int64_t bytes = 0;
  for (const HloInstruction* operand : sort_.operands()) {
    ASSIGN_OR_RETURN(const ElementType type,
                     KernelType(operand->shape().element_type()));
    types.push_back(type);
  }
  if (keeps_places_) types.push_back(ElementType::kS32);
  const int64_t elements =
      group_.elements + (steps_ == 1 ? 0 : group_.elements / kBanks);
  for (ElementType type : types) {
    bytes += RoundUpTo(kir::ElementBytes(type) * rows_per_block_ * elements,
                       kAlignment);
  }
  const int64_t available = shared_bytes - kSharedSetAside;
  if (bytes > available && steps_ > 1) {
    // Without gaps against bank conflicts it may fit.
    SetSteps(1);
    return AddTiles(shared_bytes);
  }
  if (bytes > available) return false;
  for (ElementType type : types) {
    tiles_.push_back(
        builder_.AddShared("s", type, {rows_per_block_, elements}));
  }
  return true;
}

absl::Status TileSorter::Each(
    int64_t count, absl::FunctionRef<absl::Status(const AffineExpr&)> body) {
  const auto round = [&](const AffineExpr& index) {
    const AffineExpr number =
        (index * AffineExpr(lanes_) + lane_).SimplifyIn(builder_.ranges());
    return frame_.Where(Inside(number, count, builder_.ranges()), [&] {
      return builder_.Let("i", number, count, [&](const AffineExpr& name) {
        return emitter_.InScope([&] { return body(name); });
      });
    });
  };
  const int64_t rounds = CeilOfRatio(count, lanes_);
  if (rounds == 1) return round(0);
  return builder_.Loop("u", kir::LoopKind::kSerial, 0, rounds, round);
}

absl::Status TileSorter::Named(
    const AffineExpr& place,
    absl::FunctionRef<absl::Status(const Indices&)> body) {
  std::vector<int64_t> dims, extents;
  for (int64_t d : MemoryOrder(shape_)) {
    if (d == along_) continue;
    dims.push_back(d);
    extents.push_back(shape_.dimensions(d));
  }
  const AffineExpr row = AffineExpr::Min(raw_row_, AffineExpr(group_.rows - 1))
                             .SimplifyIn(builder_.ranges());
  const Indices values = Delinearize(row, extents, builder_.ranges());
  Indices places(shape_.dimensions().size());
  places[along_] = place;
  const std::function<absl::Status(size_t)> name =
      [&](size_t k) -> absl::Status {
    if (k == dims.size()) return body(places);
    return builder_.Let("i", values[k], extents[k],
                        [&](const AffineExpr& index) {
                          places[dims[k]] = index;
                          return name(k + 1);
                        });
  };
  return name(0);
}

absl::Status TileSorter::Load() {
  return Each(group_.elements, [&](const AffineExpr& place) {
    return Named(place, [&](const Indices& indices) -> absl::Status {
      for (int64_t k = 0; k < sort_.operand_count(); ++k) {
        ASSIGN_OR_RETURN(const Operand value,
                         emitter_.Element(*sort_.operand(k), indices));
        builder_.EmitTo(At(tiles_[k], place), "copy", {value});
      }
      if (keeps_places_) {
        builder_.EmitTo(At(tiles_.back(), place), "copy", {place});
      }
      return absl::OkStatus();
    });
  });
}

absl::Status TileSorter::Exchange(Elements* left, Elements* right) {
  const Elements a = *left, b = *right;
  ASSIGN_OR_RETURN(Operand swap, Before(b, a));
  if (keeps_places_) {
    ASSIGN_OR_RETURN(const Operand less, Before(a, b));
    // Equals that have overtaken each other.
    const Operand later =
        builder_.Emit("lt", ElementType::kPred, {b.back(), a.back()});
    const Operand not_less = builder_.Emit("not", ElementType::kPred, {less});
    const Operand tie =
        builder_.Emit("and", ElementType::kPred, {not_less, later});
    swap = builder_.Emit("or", ElementType::kPred, {swap, tie});
  }
  for (size_t k = 0; k < tiles_.size(); ++k) {
    const ElementType type = builder_.TypeOf(a[k]);
    (*left)[k] = builder_.Emit("select", type, {swap, b[k], a[k]});
    (*right)[k] = builder_.Emit("select", type, {swap, a[k], b[k]});
  }
  return absl::OkStatus();
}

absl::Status TileSorter::CompareAndSwap(const AffineExpr& left,
                                        const AffineExpr& right) {
  Elements a, b;
  for (kir::BufferId tile : tiles_) {
    a.push_back(Value(tile, left));
    b.push_back(Value(tile, right));
  }
  RETURN_IF_ERROR(Exchange(&a, &b));
  for (size_t k = 0; k < tiles_.size(); ++k) {
    builder_.EmitTo(At(tiles_[k], left), "copy", {a[k]});
    builder_.EmitTo(At(tiles_[k], right), "copy", {b[k]});
  }
  return absl::OkStatus();
}

absl::Status TileSorter::Merge(std::vector<Elements>* elements, bool mirrored) {
  const size_t count = elements->size();
  for (size_t apart = count / 2; apart > 0; apart /= 2) {
    for (size_t k = 0; k < count; ++k) {
      if ((k & apart) != 0) continue;
      const size_t other =
          mirrored && 2 * apart == count ? count - 1 - k : k + apart;
      RETURN_IF_ERROR(Exchange(&(*elements)[k], &(*elements)[other]));
    }
  }
  return absl::OkStatus();
}

// A thread's elements are as far apart as the pairs of the last step, in the
// order of their places. Of a merge that begins with mirrored pairs, the upper
// half of them lies as far from the end of its places as the lower half lies
// from their begin.
absl::Status TileSorter::Visit(int64_t size, int64_t apart, int64_t steps) {
  const int64_t count = int64_t{1} << steps, half = count / 2;
  const bool mirrored = 2 * apart == size;
  const int64_t distance = apart == 0 ? 1 : apart / half;
  return Each(width_ / count, [&](const AffineExpr& number) {
    const AffineExpr block =
        AffineExpr::FloorDiv(number, AffineExpr(distance)) *
        AffineExpr(count * distance);
    const AffineExpr within = AffineExpr::Mod(number, AffineExpr(distance));
    const AffineExpr last =
        mirrored ? block + AffineExpr(size - 1) - within : block + within;
    const auto take = [&](const AffineExpr& low,
                          const AffineExpr& high) -> absl::Status {
      std::vector<AffineExpr> places;
      for (int64_t k = 0; k < count; ++k) {
        places.push_back(mirrored && k >= half
                             ? high - AffineExpr((count - 1 - k) * distance)
                             : low + AffineExpr(k * distance));
      }
      std::vector<Elements> elements(count);
      for (int64_t k = 0; k < count; ++k) {
        for (kir::BufferId tile : tiles_) {
          elements[k].push_back(Value(tile, places[k]));
        }
      }
      if (apart > 0) {
        RETURN_IF_ERROR(Merge(&elements, mirrored));
      } else {
        for (int64_t part = 2; part <= count; part *= 2) {
          for (int64_t first = 0; first < count; first += part) {
            std::vector<Elements> some(elements.begin() + first,
                                       elements.begin() + first + part);
            RETURN_IF_ERROR(Merge(&some, /*mirrored=*/true));
            std::copy(some.begin(), some.end(), elements.begin() + first);
          }
        }
      }
      for (int64_t k = 0; k < count; ++k) {
        for (size_t tile = 0; tile < tiles_.size(); ++tile) {
          builder_.EmitTo(At(tiles_[tile], places[k]), "copy",
                          {elements[k][tile]});
        }
      }
      return absl::OkStatus();
    };
    const auto& ranges = builder_.ranges();
    return builder_.Let(
        "i", (block + within).SimplifyIn(ranges), group_.elements,
        [&](const AffineExpr& low) {
          if (!mirrored) return take(low, low);
          return builder_.Let(
              "i", last.SimplifyIn(ranges), group_.elements,
              [&](const AffineExpr& high) { return take(low, high); });
        });
  });
}

absl::Status TileSorter::Visits() {
  const int64_t first = int64_t{1} << steps_;
  RETURN_IF_ERROR(Visit(first, 0, steps_));
  Join();
  for (int64_t size = 2 * first; size <= width_; size *= 2) {
    for (int64_t apart = size / 2; apart > 0;) {
      int64_t steps = 0, rest = apart;
      for (; steps < steps_ && rest > 0; rest /= 2) ++steps;
      RETURN_IF_ERROR(Visit(size, apart, steps));
      Join();
      apart = rest;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Operand>> TileSorter::Results(
    const AffineExpr& place) {
  std::vector<Operand> values;
  for (int64_t k = 0; k < sort_.operand_count(); ++k) {
    values.push_back(Value(tiles_[k], place));
  }
  if (sort_.opcode() == HloOpcode::kTopK) {
    ASSIGN_OR_RETURN(const ElementType type,
                     KernelType(sort_.shape().tuple_shapes(1).element_type()));
    const Operand from = Value(tiles_.back(), place);
    values.push_back(type == builder_.TypeOf(from)
                         ? from
                         : builder_.Emit("cast", type, {from}));
  }
  return values;
}

absl::Status TileSorter::Step(int64_t size, int64_t apart) {
  const bool mirrored = 2 * apart == size;
  return Each(width_ / 2, [&](const AffineExpr& number) {
    const AffineExpr group = AffineExpr::FloorDiv(number, AffineExpr(apart));
    const AffineExpr within = AffineExpr::Mod(number, AffineExpr(apart));
    const AffineExpr left = group * AffineExpr(2 * apart) + within;
    const AffineExpr right =
        mirrored ? group * AffineExpr(size) + AffineExpr(size - 1) - within
                 : left + AffineExpr(apart);
    const auto& ranges = builder_.ranges();
    return frame_.Where(
        Inside(right.SimplifyIn(ranges), group_.elements, ranges), [&] {
          return builder_.Let(
              "i", left.SimplifyIn(builder_.ranges()), group_.elements,
              [&](const AffineExpr& i) {
                return builder_.Let(
                    "i", right.SimplifyIn(builder_.ranges()), group_.elements,
                    [&](const AffineExpr& j) { return CompareAndSwap(i, j); });
              });
        });
  });
}

absl::Status TileSorter::Write() {
  const auto write = [&](const Indices& indices) -> absl::Status {
    ASSIGN_OR_RETURN(std::vector<Operand> values, Results(indices[along_]));
    return WriteResults(
        indices, std::move(values),
        [&](const KernelFrame::Result& result, const Indices& at) {
          return frame_.Store(result, at);
        });
  };
  return frame_.Where(Inside(raw_row_, group_.rows, builder_.ranges()),
                      [&]() -> absl::Status {
                        return Each(written_, [&](const AffineExpr& place) {
                          return Named(place, write);
                        });
                      });
}

absl::Status TileSorter::Emit() {
  return frame_.Blocks(
      CeilOfRatio(group_.rows, rows_per_block_),
      [&](const AffineExpr& block, const AffineExpr& thread) -> absl::Status {
        const auto& ranges = builder_.ranges();
        lane_ = AffineExpr::Mod(thread, AffineExpr(lanes_)).SimplifyIn(ranges);
        team_ =
            AffineExpr::FloorDiv(thread, AffineExpr(lanes_)).SimplifyIn(ranges);
        raw_row_ =
            (block * AffineExpr(rows_per_block_) + team_).SimplifyIn(ranges);
        RETURN_IF_ERROR(Load());
        Join();
        if (steps_ > 1) {
          RETURN_IF_ERROR(Visits());
          return Write();
        }
        for (int64_t size = 2; size <= width_; size *= 2) {
          for (int64_t apart = size / 2; apart > 0; apart /= 2) {
            RETURN_IF_ERROR(Step(size, apart));
            Join();
          }
        }
        return Write();
      });
}

}  // namespace

std::vector<SortGroup> FindSortGroups(const KernelFrame& frame,
                                      const std::vector<bool>& taken) {
  std::vector<SortGroup> groups;
  std::vector<bool> found = taken;
  for (const HloInstruction* hlo : frame.body()) {
    if (!IsSort(*hlo)) continue;
    SortGroup group;
    group.hero = hlo;
    const Shape& shape = hlo->operand(0)->shape();
    group.elements = shape.dimensions(SortedDimension(*hlo));
    if (group.elements == 0) continue;
    group.rows = ShapeUtil::ElementsIn(shape) / group.elements;
    const ReductionLevels levels(frame.body(), {hlo});
    for (size_t k = 0; k < frame.results().size(); ++k) {
      const KernelFrame::Result& result = frame.results()[k];
      if (found[k] || levels.Of(*result.hlo) == 0 ||
          !FindElementWay(result, SortedShape(*hlo), levels).has_value()) {
        continue;
      }
      found[k] = true;
      group.results.push_back(k);
    }
    if (!group.results.empty()) groups.push_back(std::move(group));
  }
  return groups;
}

absl::StatusOr<bool> EmitSort(const SortGroup& group, int64_t shared_bytes,
                              KernelFrame* frame) {
  const HloInstruction& sort = *group.hero;
  if (sort.opcode() == HloOpcode::kSort) {
    RETURN_IF_ERROR(NotLowered(
        sort, CheckComparatorOrder(*sort.to_apply(), FloatOrders::kAll)));
  }
  TileSorter emitter(group, frame);
  ASSIGN_OR_RETURN(const bool fits, emitter.AddTiles(shared_bytes));
  RETURN_IF_ERROR(fits ? emitter.Emit() : EmitSortByRanks(group, frame));
  return fits;
}

}  // namespace xla::gpu
