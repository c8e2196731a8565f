#include "xla/backends/gpu/lowering/kernel_frame.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/memory/memory.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/kernel_ir/kernel_vectors.h"
#include "xla/backends/gpu/lowering/complex_parts.h"
#include "xla/backends/gpu/lowering/index_maps.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/util.h"

namespace xla::gpu {
namespace {

absl::StatusOr<kir::BufferId> AddArray(const HloInstruction& hlo,
                                       const Shape& shape,
                                       absl::string_view name,
                                       KernelBuilder* builder) {
  if (!shape.IsArray()) return NotLowered(hlo, "a token in memory");
  if (shape.is_dynamic()) return NotLowered(hlo, "a dynamic shape");
  if (shape.has_layout() && !shape.layout().tiles().empty()) {
    return NotLowered(hlo, "tiles in its layout");
  }
  const absl::StatusOr<kir::ElementType> type =
      KernelType(shape.element_type());
  RETURN_IF_ERROR(NotLowered(hlo, type.status()));
  const PrimitiveType element = shape.element_type();
  const int64_t bits =
      shape.has_layout() ? shape.layout().element_size_in_bits() : 0;
  if (PackedBits(shape) > 0 && primitive_util::IsIntegralType(element) &&
      bits == primitive_util::BitWidth(element)) {
    return builder->AddParam(
        name, kir::ElementType::kU8,
        {CeilOfRatio<int64_t>(ShapeUtil::ElementsIn(shape) * bits, 8)});
  }
  if (bits != 0 && bits != 8 * primitive_util::ByteWidth(element)) {
    return NotLowered(hlo, absl::StrCat("elements of ", bits, " bits"));
  }
  return builder->AddParam(name, *type, MemoryExtents(shape));
}

// Sums in a byte are not cut to fewer bits.
absl::Status CheckNarrow(const HloInstruction& hlo) {
  const PrimitiveType type = hlo.shape().element_type();
  if (!primitive_util::IsIntegralType(type) ||
      primitive_util::BitWidth(type) >= 8) {
    return absl::OkStatus();
  }
  switch (hlo.opcode()) {
    case HloOpcode::kConstant:
      return PackedBits(hlo.shape()) > 0
                 ? NotLowered(hlo, "packed elements of a constant")
                 : absl::OkStatus();
    case HloOpcode::kConvolution:
    case HloOpcode::kDot:
    case HloOpcode::kIota:
      return NotLowered(hlo, "results of less than a byte");
    default:  // Cut by who computes an element.
      return absl::OkStatus();
  }
}

// Without elements, which nothing computes and nothing reads.
bool IsEmpty(const Shape& shape) {
  return shape.IsArray() && ShapeUtil::IsZeroElementArray(shape);
}

// The blocks of a part; allocations are for all.
int64_t BlocksOf(const kir::Statement& statement) {
  const auto* loop = statement.As<kir::Loop>();
  return loop == nullptr ? std::numeric_limits<int64_t>::max()
                         : loop->stop.AsConstant().value_or(0);
}

// "p1" for an array, "p1_0" for the first element of a tuple.
std::string ArrayName(absl::string_view prefix, int64_t number,
                      const ShapeIndex& index) {
  std::string name = absl::StrCat(prefix, number);
  for (int64_t i : index) absl::StrAppend(&name, "_", i);
  return name;
}

// Names of kernels are those of instructions, in what .kir texts know.
std::string KernelName(absl::string_view name) {
  std::string result;
  for (char c : name) {
    result += absl::ascii_isalnum(c) ? c : '_';
  }
  return result;
}

// Whether shapes of the same dimensions are equal but for the order of rows,
// which are no shorter than what a warp writes at once.
bool HasRowsOf(const Shape& shape, const Shape& first) {
  constexpr int64_t kLeastBytes = 128;
  const std::vector<int64_t> dims = LongDimensions(shape);
  const std::vector<int64_t> order = LongDimensions(first);
  if (dims == order) return true;
  return dims.back() == order.back() &&
         shape.dimensions(dims.back()) *
                 ShapeUtil::ByteSizeOfPrimitiveType(shape.element_type()) >=
             kLeastBytes;
}

std::vector<int64_t> LongExtents(const Shape& shape) {
  std::vector<int64_t> extents;
  for (int64_t d : LongDimensions(shape)) {
    extents.push_back(shape.dimensions(d));
  }
  return extents;
}

bool GoTogether(const Shape& shape, const Shape& first) {
  return shape.dimensions() == first.dimensions()
             ? HasRowsOf(shape, first)
             : LongExtents(shape) == LongExtents(first);
}

// The element of `shape` that is computed with that element of `first`, which
// has this number in memory.
Indices IndicesWith(const Shape& first, const AffineExpr& number,
                    const Shape& shape, const AffineExpr::Ranges& ranges) {
  return IndicesInMemory(
      number, shape.dimensions() == first.dimensions() ? first : shape, ranges);
}

}  // namespace

bool TakesALoop(const HloInstruction& hlo) {
  constexpr int64_t kMostOperands = 10;
  switch (hlo.opcode()) {
    case HloOpcode::kConvolution:
    case HloOpcode::kDot:
    case HloOpcode::kReduce:
    case HloOpcode::kReduceWindow:
    case HloOpcode::kScatter:
    case HloOpcode::kSelectAndScatter:
    case HloOpcode::kSort:
      return true;
    case HloOpcode::kConcatenate:
      return hlo.operand_count() > kMostOperands;
    default:  // A few statements.
      return false;
  }
}

absl::StatusOr<std::unique_ptr<KernelFrame>> KernelFrame::Make(
    const HloInstruction& hlo, int64_t threads, int64_t device_threads) {
  auto frame = absl::WrapUnique(
      new KernelFrame(KernelName(hlo.name()), threads, device_threads));
  if (!HasComplex(hlo)) {
    RETURN_IF_ERROR(frame->AddArrays(hlo, hlo.shape()));
    return frame;
  }
  ASSIGN_OR_RETURN(std::shared_ptr<const HloModule> real, WithoutComplex(hlo));
  RETURN_IF_ERROR(frame->AddArrays(
      *real->entry_computation()->root_instruction(), hlo.shape()));
  frame->lowered_.real = std::move(real);
  return frame;
}

absl::Status KernelFrame::AddArrays(const HloInstruction& hlo,
                                    const Shape& shape) {
  const HloInstruction* root = &hlo;
  absl::Span<HloInstruction* const> inputs = hlo.operands();
  body_ = {&hlo};
  if (hlo.opcode() == HloOpcode::kFusion) {
    const HloComputation& fused = *hlo.fused_instructions_computation();
    root = fused.root_instruction();
    inputs = fused.parameter_instructions();
    const auto order = fused.MakeInstructionPostOrder();
    body_.assign(order.begin(), order.end());
  }
  for (const HloInstruction* inner : body_) {
    if (inner->shape().IsArray()) {
      RETURN_IF_ERROR(CheckNarrow(*inner));
    }
  }
  // Looked up only.
  std::map<std::pair<const HloInstruction*, ShapeIndex>, kir::BufferId> arrays;
  for (int64_t i = 0; i < static_cast<int64_t>(inputs.size()); ++i) {
    for (const auto& leaf : ShapeUtil::GetLeafShapes(inputs[i]->shape())) {
      if (IsEmpty(leaf.shape)) continue;
      ASSIGN_OR_RETURN(const kir::BufferId buffer,
                       AddArray(*inputs[i], leaf.shape,
                                ArrayName("p", i, leaf.index), &builder_));
      arrays[{inputs[i], leaf.index}] = buffer;
      if (leaf.index.empty()) emitter_.AddInput(inputs[i], buffer);
      lowered_.operands.push_back({i, leaf.index});
    }
  }
  // Elements of operands that are tuples.
  for (const HloInstruction* element : body_) {
    ShapeIndex index;
    const HloInstruction* tuple = element;
    for (; tuple->opcode() == HloOpcode::kGetTupleElement;
         tuple = tuple->operand(0)) {
      index.push_front(tuple->tuple_index());
    }
    const auto array = arrays.find({tuple, index});
    if (tuple != element && array != arrays.end()) {
      emitter_.AddInput(element, array->second);
    }
  }
  for (const HloInstruction* constant : body_) {
    if (constant->opcode() != HloOpcode::kConstant ||
        constant->shape().dimensions().empty() || IsEmpty(constant->shape())) {
      continue;
    }
    if (constant->literal().is_elided()) {
      return NotLowered(*constant, "elided");
    }
    ASSIGN_OR_RETURN(
        const kir::BufferId buffer,
        AddArray(*constant, constant->shape(),
                 absl::StrCat("c", lowered_.constants.size()), &builder_));
    emitter_.AddInput(constant, buffer);
    lowered_.constants.push_back(constant);
  }
  return AddResults(hlo, *root, shape);
}

absl::Status KernelFrame::AddResults(const HloInstruction& hlo,
                                     const HloInstruction& root,
                                     const Shape& shape) {
  for (const auto& leaf : ShapeUtil::GetLeafShapes(shape)) {
    if (IsEmpty(leaf.shape)) continue;
    const bool is_complex =
        leaf.shape.IsArray() &&
        primitive_util::IsComplexType(leaf.shape.element_type());
    const std::string name = absl::StrCat("out", lowered_.results.size());
    kir::BufferId buffer = -1;
    for (int64_t part = is_complex ? 0 : -1; part < (is_complex ? 2 : 0);
         ++part) {
      // Layouts are those of the result that everybody else sees.
      Shape of_part = leaf.shape;
      ShapeIndex index = leaf.index;
      if (is_complex) {
        index.push_back(part);
        of_part = ShapeUtil::ChangeElementType(
            leaf.shape,
            primitive_util::ComplexComponentType(leaf.shape.element_type()));
      }
      if (part <= 0) {
        Shape pairs = of_part;
        if (is_complex) ShapeUtil::AppendMinorDimension(2, &pairs);
        ASSIGN_OR_RETURN(buffer, AddArray(hlo, pairs, name, &builder_));
      }
      const HloInstruction* computes = &root;
      while (!index.empty() && computes->opcode() == HloOpcode::kTuple) {
        computes = computes->operand(index.front());
        index.pop_front();
      }
      if (index.size() > 1) return NotLowered(*computes, "a tuple of tuples");
      results_.push_back({computes, index.empty() ? 0 : index[0], of_part,
                          buffer, static_cast<int64_t>(lowered_.results.size()),
                          part});
    }
    lowered_.results.push_back(leaf.index);
  }
  return absl::OkStatus();
}

absl::StatusOr<kir::Operand> KernelFrame::Value(const Result& result,
                                                const Indices& indices) {
  if (PackedBits(result.shape) > 0) {
    return NotLowered(*result.hlo, "threads share bytes of the result");
  }
  return emitter_.Element(*result.hlo, indices, result.tuple_index);
}

void KernelFrame::Write(const Result& result, const Indices& indices,
                        const kir::Operand& value) {
  kir::Operand place;
  place.buffer = result.buffer;
  place.indices = MemoryIndices(result.shape, indices);
  if (result.part >= 0) {
    // A pair alone is an array of two.
    if (result.shape.dimensions().empty()) place.indices.clear();
    place.indices.push_back(result.part);
  }
  builder_.EmitTo(place, "copy", {value});
}

absl::Status KernelFrame::Store(const Result& result, const Indices& indices) {
  ASSIGN_OR_RETURN(const kir::Operand value, Value(result, indices));
  Write(result, indices, value);
  return absl::OkStatus();
}

absl::Status KernelFrame::Blocks(
    int64_t blocks,
    absl::FunctionRef<absl::Status(const AffineExpr&, const AffineExpr&)>
        body) {
  blocks_ = std::max(blocks_, blocks);
  return builder_.Loop(
      "b", kir::LoopKind::kBidX, 0, blocks, [&](const AffineExpr& block) {
        return builder_.Loop(
            "t", kir::LoopKind::kTidX, 0, threads_,
            [&](const AffineExpr& thread) {
              return emitter_.InScope([&] { return body(block, thread); });
            });
      });
}

absl::Status KernelFrame::Where(const AffineExpr& condition,
                                absl::FunctionRef<absl::Status()> body) {
  const AffineExpr simple = condition.SimplifyIn(builder_.ranges());
  if (simple.IsConstant(0)) return absl::OkStatus();
  const auto scoped = [&] { return emitter_.InScope(body); };
  if (simple.IsConstant()) return scoped();
  return builder_.If(kir::Uniformity::kDivergent, simple, scoped,
                     [] { return absl::OkStatus(); });
}

absl::Status KernelFrame::Named(const Shape& shape,
                                absl::Span<const int64_t> dims,
                                const AffineExpr& number, Indices* places,
                                absl::FunctionRef<absl::Status()> body) {
  std::vector<int64_t> extents;
  for (int64_t d : dims) extents.push_back(shape.dimensions(d));
  const Indices indices = Delinearize(number, extents, builder_.ranges());
  const std::function<absl::Status(size_t)> name =
      [&](size_t k) -> absl::Status {
    if (k == dims.size()) return body();
    return builder_.Let("i", indices[k], extents[k],
                        [&](const AffineExpr& index) {
                          (*places)[dims[k]] = index;
                          return name(k + 1);
                        });
  };
  return name(0);
}

// The last block is guarded only if it is not full.
absl::Status KernelFrame::Numbers(
    int64_t count, absl::FunctionRef<absl::Status(const AffineExpr&)> body) {
  if (count == 0) return absl::OkStatus();
  return Blocks(
      CeilOfRatio(count, threads_),
      [&](const AffineExpr& block, const AffineExpr& thread) -> absl::Status {
        const AffineExpr number = block * AffineExpr(threads_) + thread;
        if (count % threads_ == 0) return body(number);
        return Where(
            AffineExpr::Max(0, AffineExpr::Min(1, AffineExpr(count) - number)),
            [&] { return body(number); });
      });
}

int64_t KernelFrame::Together(absl::Span<const Result* const> results) {
  // Values of several results at a time take as many registers.
  constexpr int64_t kMost = 4;
  const Shape& first = results[0]->shape;
  int64_t count = 1;
  if (PackedBits(first) > 0) return count;
  for (; count < static_cast<int64_t>(results.size()); ++count) {
    const Result& next = *results[count];
    const bool is_second = next.part == 1;
    if ((count >= kMost && !is_second) || PackedBits(next.shape) > 0 ||
        !GoTogether(next.shape, first)) {
      break;
    }
  }
  return count;
}

// By the widest array. Arrays of fewer elements than the device has threads get
// a thread for each.
int64_t KernelFrame::ElementsOfThread(
    absl::Span<const Result* const> results) const {
  if (ShapeUtil::ElementsIn(results[0]->shape) < device_threads_) return 1;
  int64_t bytes = 1;
  std::vector<const HloInstruction*> stack;
  absl::flat_hash_set<const HloInstruction*> seen;
  for (const Result* result : results) {
    if (result->part >= 0) return 1;
    bytes = std::max(bytes, ShapeUtil::ByteSizeOfPrimitiveType(
                                result->shape.element_type()));
    if (seen.insert(result->hlo).second) stack.push_back(result->hlo);
  }
  while (!stack.empty()) {
    const HloInstruction& hlo = *stack.back();
    stack.pop_back();
    if (emitter_.FindInput(hlo) >= 0) {
      // Scalars are read once.
      if (ShapeUtil::ElementsIn(hlo.shape()) == 1) continue;
      bytes = std::max(bytes, ShapeUtil::ByteSizeOfPrimitiveType(
                                  hlo.shape().element_type()));
      continue;
    }
    if (TakesALoop(hlo)) return 1;
    for (const HloInstruction* operand : hlo.operands()) {
      if (seen.insert(operand).second) stack.push_back(operand);
    }
  }
  return kir::NeighborsOfThread(bytes, kir::kVectorBytes);
}

absl::StatusOr<int64_t> KernelFrame::EmitLoop(
    absl::Span<const Result* const> results) {
  const Shape& shape = results[0]->shape;
  if (PackedBits(shape) > 0) {
    RETURN_IF_ERROR(EmitPacked(*results[0]));
    return 1;
  }
  for (const Result* search : results) {
    if (!IsSearchOfBlock(*search)) continue;
    RETURN_IF_ERROR(EmitSearchOfBlock(*search));
    for (const Result* result : results) {
      if (result == search) continue;
      RETURN_IF_ERROR(EmitLoop({result}).status());
    }
    return 1;
  }
  const int64_t most = ElementsOfThread(results);
  int64_t width = most;
  while (ShapeUtil::ElementsIn(shape) % width != 0) width /= 2;
  if (width > 1 || most == 1) {
    const KernelBuilder::Mark mark = builder_.Here();
    const int64_t blocks = blocks_;
    RETURN_IF_ERROR(EmitNeighbors(results, width));
    if (most == 1 || builder_.bytes_one_by_one() <= builder_.bytes_at_once()) {
      return width;
    }
    builder_.Undo(mark);
    blocks_ = blocks;
  }
  // Elements one by one take more of them to keep the memory busy.
  constexpr int64_t kMostRounds = 8;
  int64_t rounds = most;
  while (rounds < kMostRounds && most > 1 && results.size() == 1 &&
         ShapeUtil::ElementsIn(shape) >= 4 * rounds * device_threads_) {
    rounds *= 2;
  }
  RETURN_IF_ERROR(EmitRounds(results, rounds));
  return 1;
}

// Numbered in memory order, so that neighboring threads write neighbors.
absl::Status KernelFrame::EmitNeighbors(absl::Span<const Result* const> results,
                                        int64_t width) {
  const Shape& shape = results[0]->shape;
  return Numbers(
      ShapeUtil::ElementsIn(shape) / width, [&](const AffineExpr& number) {
        return builder_.Vector(width, [&](const AffineExpr& neighbor) {
          return emitter_.InScope([&]() -> absl::Status {
            const AffineExpr element = number * AffineExpr(width) + neighbor;
            const auto indices = [&](const Result& result) {
              return IndicesWith(shape, element, result.shape,
                                 builder_.ranges());
            };
            std::vector<kir::Operand> values;
            for (const Result* result : results) {
              ASSIGN_OR_RETURN(values.emplace_back(),
                               Value(*result, indices(*result)));
            }
            for (size_t k = 0; k < results.size(); ++k) {
              Write(*results[k], indices(*results[k]), values[k]);
            }
            return absl::OkStatus();
          });
        });
      });
}

// Neighboring threads have neighbors in each round; all loads come before the
// first store, which might change what they read as far as a compiler knows.
absl::Status KernelFrame::EmitRounds(absl::Span<const Result* const> results,
                                     int64_t rounds) {
  const Shape& shape = results[0]->shape;
  const int64_t count = ShapeUtil::ElementsIn(shape);
  const int64_t of_block = rounds * threads_;
  std::vector<kir::Operand> values;
  for (const Result* result : results) {
    ASSIGN_OR_RETURN(const kir::ElementType type,
                     KernelType(result->shape.element_type()));
    values.emplace_back().buffer = builder_.AddLocal(type, {rounds});
  }
  const auto value = [&](size_t k, const AffineExpr& round) {
    kir::Operand place = values[k];
    place.indices = {round};
    return place;
  };
  return Blocks(
      CeilOfRatio(count, of_block),
      [&](const AffineExpr& block, const AffineExpr& thread) -> absl::Status {
        const auto each = [&](absl::FunctionRef<absl::Status(const AffineExpr&,
                                                             const AffineExpr&)>
                                  body) {
          return builder_.Loop(
              "u", kir::LoopKind::kUnroll, 0, rounds,
              [&](const AffineExpr& round) {
                const AffineExpr number = block * AffineExpr(of_block) +
                                          round * AffineExpr(threads_) + thread;
                return Where(Inside(number, count, builder_.ranges()),
                             [&] { return body(number, round); });
              });
        };
        const auto indices = [&](size_t k, const AffineExpr& number) {
          return IndicesWith(shape, number, results[k]->shape,
                             builder_.ranges());
        };
        RETURN_IF_ERROR(each([&](const AffineExpr& number,
                                 const AffineExpr& round) -> absl::Status {
          for (size_t k = 0; k < results.size(); ++k) {
            ASSIGN_OR_RETURN(const kir::Operand computed,
                             Value(*results[k], indices(k, number)));
            builder_.EmitTo(value(k, round), "copy", {computed});
          }
          return absl::OkStatus();
        }));
        return each([&](const AffineExpr& number, const AffineExpr& round) {
          for (size_t k = 0; k < results.size(); ++k) {
            Write(*results[k], indices(k, number), value(k, round));
          }
          return absl::OkStatus();
        });
      });
}

// A thread has all elements of its byte. Behind the last element the bits are
// that one's again.
absl::Status KernelFrame::EmitPacked(const Result& result) {
  const int64_t bits = PackedBits(result.shape), of_byte = 8 / bits;
  const int64_t count = ShapeUtil::ElementsIn(result.shape);
  constexpr kir::ElementType kByte = kir::ElementType::kU8;
  return Numbers(CeilOfRatio(count, of_byte), [&](const AffineExpr& number) {
    return emitter_.InScope([&]() -> absl::Status {
      kir::Operand byte;
      for (int64_t k = 0; k < of_byte; ++k) {
        AffineExpr element = number * AffineExpr(of_byte) + AffineExpr(k);
        if (count % of_byte != 0) {
          element = AffineExpr::Min(element, AffineExpr(count - 1))
                        .SimplifyIn(builder_.ranges());
        }
        ASSIGN_OR_RETURN(const kir::Operand value,
                         emitter_.Element(*result.hlo,
                                          IndicesInMemory(element, result.shape,
                                                          builder_.ranges()),
                                          result.tuple_index));
        const kir::Operand low =
            builder_.Emit("and", kByte,
                          {builder_.Emit("cast", kByte, {value}),
                           AffineExpr((int64_t{1} << bits) - 1)});
        byte = k == 0 ? low
                      : builder_.Emit(
                            "or", kByte,
                            {byte, builder_.Emit("shl", kByte,
                                                 {low, AffineExpr(k * bits)})});
      }
      kir::Operand place;
      place.buffer = result.buffer;
      place.indices = {number};
      builder_.EmitTo(place, "copy", {byte});
      return absl::OkStatus();
    });
  });
}

absl::StatusOr<LoweredKernel> KernelFrame::Finish() {
  RETURN_IF_ERROR(builder_.status());
  constexpr int64_t kMostBlocks = std::numeric_limits<int32_t>::max();
  if (blocks_ > kMostBlocks) {
    return NotLowered(
        *body_.back(),
        absl::StrCat(blocks_, " blocks, and a launch has at most ",
                     kMostBlocks));
  }
  kir::Launch launch;
  launch.grid = {AffineExpr(blocks_), AffineExpr(1), AffineExpr(1)};
  launch.block = {AffineExpr(threads_), AffineExpr(1), AffineExpr(1)};
  lowered_.kernel = builder_.Finish(launch);
  // Parts of more blocks come first. Then a block that comes to a part has been
  // in all parts before it, and has met their barriers: to a plan of shared
  // memory, blocks that skip parts are blocks that stop earlier.
  std::vector<kir::Statement>& body = lowered_.kernel.body;
  absl::c_stable_sort(body,
                      [](const kir::Statement& a, const kir::Statement& b) {
                        return BlocksOf(a) > BlocksOf(b);
                      });
  return std::move(lowered_);
}

}  // namespace xla::gpu
