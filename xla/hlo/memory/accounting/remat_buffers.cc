#include "xla/hlo/memory/accounting/remat_buffers.h"

#include <algorithm>
#include <cstddef>

#include "absl/algorithm/container.h"
#include "absl/base/prefetch.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_opcode_groups.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

// Buffers are found in one forward pass. Each instruction's result is a View: a
// run of buffer ids in pool_, one per position of its shape in pre-order. An
// instruction either forwards the view of an operand (bitcast,
// get-tuple-element, while, the done of an asynchronous operation), passes
// parts of operands on inside a table of its own (tuple, copy-start,
// async-start, async-update, aliasing fusions), or defines new buffers. Views
// make forwarding O(1) however large the tuple is.

namespace xla {
namespace {

constexpr size_t kFetchedAhead = 8;

int32_t Subshapes(const Shape& shape) {
  if (!shape.IsTuple()) return 1;
  return static_cast<int32_t>(ShapeUtil::SubshapeCount(shape));
}

// Position of an index among the indices of a shape in pre-order.
int32_t PreOrderPosition(const Shape& shape, const ShapeIndex& index) {
  int32_t position = 0;
  const Shape* at = &shape;
  for (int64_t element : index) {
    ++position;
    for (int64_t i = 0; i < element; ++i) {
      position += Subshapes(at->tuple_shapes(static_cast<int>(i)));
    }
    at = &at->tuple_shapes(static_cast<int>(element));
  }
  return position;
}

// Opcodes whose results contain buffers of their operands.
bool PassesPartsOn(HloOpcode opcode) {
  return HloOpcodeIsOneOf<HloOpcode::kTuple, HloOpcode::kCopy,
                          HloOpcode::kCopyStart, HloOpcode::kSend,
                          HloOpcode::kRecvDone, HloOpcode::kAsyncStart,
                          HloOpcode::kAsyncUpdate, HloOpcode::kFusion>(opcode);
}

}  // namespace

bool RunsComputations(const HloInstruction& instruction) {
  return HloPredicateIsOp<HloOpcode::kWhile, HloOpcode::kCall,
                          HloOpcode::kConditional, HloOpcode::kAsyncStart>(
      &instruction);
}

void ForEachPassedOnByUpdate(
    const HloInstruction& update,
    absl::FunctionRef<void(int32_t to, int64_t operand, int32_t from,
                           int32_t count)>
        fn) {
  const Shape& shape = update.shape();
  const Shape& state = update.operand(0)->shape();
  for (const Shape* chain : {&shape, &state}) {
    if (chain->tuple_shapes_size() < 2 || !chain->tuple_shapes(0).IsTuple()) {
      return;
    }
  }
  int32_t to = 0;
  ShapeUtil::ForEachSubshape(shape, [&](const Shape& subshape,
                                        const ShapeIndex& index) {
    const bool is_context = !index.empty() && index[0] >= 2;
    if (!is_context && ShapeUtil::IndexIsValid(state, index) &&
        ShapeUtil::Compatible(subshape, ShapeUtil::GetSubshape(state, index))) {
      fn(to, 0, PreOrderPosition(state, index), 1);
    }
    ++to;
  });
  for (const auto& [output, operand] : update.output_operand_aliasing()) {
    if (operand.first == 0) {
      fn(PreOrderPosition(shape, output), 0,
         PreOrderPosition(state, operand.second),
         Subshapes(ShapeUtil::GetSubshape(state, operand.second)));
    }
  }
  const int64_t bound = state.tuple_shapes(0).tuple_shapes_size();
  for (int64_t i = 1; i < update.operand_count() &&
                      bound + i <= shape.tuple_shapes(0).tuple_shapes_size();
       ++i) {
    fn(PreOrderPosition(shape, {0, bound + i - 1}), i, 0,
       Subshapes(update.operand(i)->shape()));
  }
}

bool RematSizeOptions::IsOnHost(const Shape& shape) const {
  return shape.IsArray() && shape.has_layout() &&
         shape.layout().memory_space() == host_memory_space &&
         host_memory_space != Layout::kDefaultMemorySpace;
}

int64_t RematSizeOptions::SizeOf(const Shape& shape) const {
  if (IsOnHost(shape)) return 0;
  return shape_size ? shape_size(shape) : ShapeUtil::ByteSizeOf(shape, 8);
}

// The flat case is by far the most common and needs no walk over the shape.
RematBuffers::View RematBuffers::Element(View tuple, const Shape& shape,
                                         int64_t index) {
  const int32_t elements = static_cast<int32_t>(shape.tuple_shapes_size());
  if (index < 0 || index >= elements) return {};
  if (tuple.count == elements + 1) {  // all are arrays
    return {tuple.first + 1 + static_cast<int32_t>(index), 1};
  }
  const int32_t skip = PreOrderPosition(shape, {index});
  return {tuple.first + skip,
          Subshapes(shape.tuple_shapes(static_cast<int>(index)))};
}

RematBufferId RematBuffers::Define(RematItemId item, const Shape& shape,
                                   bool nested) {
  const RematBufferId id = buffer_count();
  RematBuffer& buffer = buffers_.emplace_back();
  buffer.definer = item;
  buffer.nested = nested;
  buffer.shape_bytes = SizeOf(shape);
  buffer.elsewhere =
      items_[item].instruction->opcode() == HloOpcode::kParameter ||
      options_.IsOnHost(shape);
  buffer.bytes = buffer.elsewhere ? 0 : buffer.shape_bytes;
  return id;
}

RematBuffers::View RematBuffers::DefineAll(RematItemId id, const Shape& shape) {
  View view = {static_cast<int32_t>(pool_.size()), 0};
  if (!shape.IsTuple()) {
    pool_.push_back(Define(id, shape, /*nested=*/false));
    view.count = 1;
    return view;
  }
  // Parts that are passed on are not defined: -1 marks them first.
  std::vector<RematBufferId> passed_on;
  ForEachPassedOn(items_[id].instruction, [&](int32_t position, View part) {
    passed_on.resize(std::max<size_t>(passed_on.size(), position + part.count),
                     -1);
    std::copy_n(pool_.begin() + part.first, part.count,
                passed_on.begin() + position);
  });
  ShapeUtil::ForEachSubshape(
      shape, [&](const Shape& subshape, const ShapeIndex& index) {
        const RematBufferId known =
            view.count < static_cast<int32_t>(passed_on.size())
                ? passed_on[view.count]
                : -1;
        pool_.push_back(known >= 0 ? known
                                   : Define(id, subshape, index.size() > 1));
        ++view.count;
      });
  return view;
}

// The operand's view that the result is identical to; an empty view if the
// instruction defines or assembles its result.
RematBuffers::View RematBuffers::Forwarded(
    const HloInstruction* instruction) const {
  switch (instruction->opcode()) {
    case HloOpcode::kBitcast:
    case HloOpcode::kDomain:
    case HloOpcode::kOptimizationBarrier:
    case HloOpcode::kAddDependency:
    case HloOpcode::kWhile:
      return ViewOf(instruction->operand(0));
    case HloOpcode::kGetTupleElement:
      return Element(ViewOf(instruction->operand(0)),
                     instruction->operand(0)->shape(),
                     instruction->tuple_index());
    case HloOpcode::kCopyDone:
      return Element(ViewOf(instruction->operand(0)),
                     instruction->operand(0)->shape(), 0);
    case HloOpcode::kAsyncDone: {
      const Shape& chain = instruction->operand(0)->shape();
      if (chain.tuple_shapes_size() < 2 ||
          !ShapeUtil::Compatible(chain.tuple_shapes(1), instruction->shape())) {
        return {};
      }
      return Element(ViewOf(instruction->operand(0)), chain, 1);
    }
    case HloOpcode::kAfterAll:
    case HloOpcode::kAsyncStart:
    case HloOpcode::kAsyncUpdate:
    case HloOpcode::kCall:
    case HloOpcode::kConditional:
    case HloOpcode::kCopy:
    case HloOpcode::kCopyStart:
    case HloOpcode::kCustomCall:
    case HloOpcode::kFusion:
    case HloOpcode::kTuple:
    case XLA_ANY_COMPUTATION:
    case XLA_ANY_SOURCE:
    case XLA_ANY_COLLECTIVE:
    case XLA_ANY_COLLECTIVE_START:
    case XLA_ANY_COLLECTIVE_DONE:
    case XLA_ANY_TRANSFER:
    case XLA_ANY_FEED:
    case XLA_ANY_DEVICE_ID:
      break;
  }
  return {};
}

template <typename Fn>
void RematBuffers::ForEachPassedOn(const HloInstruction* instruction,
                                   const Fn& fn) const {
  const Shape& shape = instruction->shape();
  const auto pass = [&](const ShapeIndex& index, View part) {
    if (part.count != Subshapes(ShapeUtil::GetSubshape(shape, index))) return;
    fn(PreOrderPosition(shape, index), part);
  };
  switch (instruction->opcode()) {
    case HloOpcode::kTuple: {
      int32_t position = 1;
      for (const HloInstruction* operand : instruction->operands()) {
        const View part = ViewOf(operand);
        fn(position, part);
        position += part.count;
      }
      break;
    }
    case HloOpcode::kCopy: {
      const View whole = ViewOf(instruction->operand(0));
      fn(1, View{whole.first + 1, whole.count - 1});
      break;
    }
    case HloOpcode::kCopyStart:
      if (shape.tuple_shapes_size() > 1) {
        pass({1}, ViewOf(instruction->operand(0)));
      }
      break;
    case HloOpcode::kSend:
      pass({0}, ViewOf(instruction->operand(
                    instruction->operand(0)->shape().IsToken() ? 1 : 0)));
      break;
    case HloOpcode::kRecvDone:
      pass({0}, Element(ViewOf(instruction->operand(0)),
                        instruction->operand(0)->shape(), 0));
      break;
    case HloOpcode::kAsyncStart: {
      if (shape.tuple_shapes_size() == 0) break;
      const Shape& operands = shape.tuple_shapes(0);
      if (!operands.IsTuple()) break;
      for (int64_t i = 0; i < std::min<int64_t>(operands.tuple_shapes_size(),
                                                instruction->operand_count());
           ++i) {
        pass({0, i}, ViewOf(instruction->operand(i)));
      }
      break;
    }
    case HloOpcode::kAsyncUpdate:
      ForEachPassedOnByUpdate(*instruction, [&](int32_t to, int64_t operand,
                                                int32_t from, int32_t count) {
        const View whole = ViewOf(instruction->operand(operand));
        if (from + count <= whole.count) {
          fn(to, View{whole.first + from, count});
        }
      });
      break;
    case HloOpcode::kFusion:
      for (const auto& [output, operand] :
           instruction->output_operand_aliasing()) {
        View part = ViewOf(instruction->operand(operand.first));
        const Shape* at = &instruction->operand(operand.first)->shape();
        for (int64_t element : operand.second) {
          part = Element(part, *at, element);
          at = &at->tuple_shapes(static_cast<int>(element));
        }
        pass(output, part);
      }
      break;
    default:  // Nothing in PassesPartsOn() but the above.
      break;
  }
}

RematBuffers::View RematBuffers::MakeOutputs(RematItemId id) {
  const HloInstruction* instruction = items_[id].instruction;
  const View forwarded = Forwarded(instruction);
  if (forwarded.count > 0 &&
      forwarded.count == Subshapes(instruction->shape())) {
    return forwarded;
  }
  if (instruction->opcode() == HloOpcode::kFusion &&
      !instruction->shape().IsTuple() &&
      !instruction->output_operand_aliasing().empty()) {
    View whole;
    ForEachPassedOn(instruction, [&](int32_t, View part) { whole = part; });
    if (whole.count == 1) return whole;
  }
  return DefineAll(id, instruction->shape());
}

// A buffer that is read other than directly, through bitcasts or through
// get-tuple-elements is marked indirect: its readers cannot simply be
// redirected to a clone.
void RematBuffers::CollectUses(RematItemId id) {
  Item& item = items_[id];
  item.used.clear();
  const HloOpcode opcode = item.instruction->opcode();
  // Few operands are searched; many go through sorting.
  for (const HloInstruction* operand : item.instruction->operands()) {
    View view = ViewOf(operand);
    if (opcode == HloOpcode::kGetTupleElement) view.count = 1;
    const bool supported = operand->opcode() == HloOpcode::kBitcast ||
                           operand->opcode() == HloOpcode::kGetTupleElement;
    for (int32_t i = view.first; i < view.first + view.count; ++i) {
      RematBuffer& buffer = buffers_[pool_[i]];
      if (opcode == HloOpcode::kWhile ||
          (!supported && items_[buffer.definer].instruction != operand)) {
        buffer.indirect = true;
      }
      item.used.push_back(pool_[i]);
    }
  }
  if (item.used.size() > 1) {
    absl::c_sort(item.used);
    item.used.erase(std::unique(item.used.begin(), item.used.end()),
                    item.used.end());
  }
}

absl::StatusOr<RematItemId> RematBuffers::AddItem(HloInstruction* instruction) {
  const RematItemId id = item_count();
  const size_t local_id = instruction->local_id();
  if (local_id >= by_local_id_.size()) by_local_id_.resize(local_id + 1, -1);
  for (const HloInstruction* operand : instruction->operands()) {
    if (Find(operand) < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("the schedule has ", instruction->name(),
                       " before its operand ", operand->name()));
    }
  }
  Item& item = items_.emplace_back();
  item.instruction = instruction;
  item.runs_computations = RunsComputations(*instruction);
  item.has_control_predecessors = !instruction->control_predecessors().empty();
  item.has_control_successors = !instruction->control_successors().empty();
  item.first_defined = buffer_count();
  const View outputs = MakeOutputs(id);
  item.first_output = outputs.first;
  item.output_count = outputs.count;
  item.defined_count = buffer_count() - item.first_defined;
  by_local_id_[local_id] = id;
  CollectUses(id);
  return id;
}

// After operands were replaced, forwarded views and parts that are passed on
// must point to the new buffers. The number of positions never changes.
absl::Status RematBuffers::UpdateOperands(RematItemId id) {
  Item& item = items_[id];
  CollectUses(id);
  const View forwarded = Forwarded(item.instruction);
  if (forwarded.count == item.output_count && forwarded.count > 0) {
    item.first_output = forwarded.first;
  } else if (PassesPartsOn(item.instruction->opcode())) {
    if (item.instruction->opcode() == HloOpcode::kFusion &&
        item.instruction->output_operand_aliasing().empty()) {
      return absl::OkStatus();
    }
    ForEachPassedOn(item.instruction, [&](int32_t position, View part) {
      if (position + part.count > item.output_count) return;
      std::copy_n(pool_.begin() + part.first, part.count,
                  pool_.begin() + item.first_output + position);
    });
  }
  return absl::OkStatus();
}

absl::StatusOr<RematBuffers> RematBuffers::Build(
    const HloInstructionSequence& sequence, const RematSizeOptions& options) {
  RematBuffers result;
  result.options_ = options;
  const size_t count = sequence.instructions().size();
  if (count == 0) return result;
  const HloComputation* computation = sequence.instructions()[0]->parent();
  result.items_.reserve(count + count / 4);
  result.buffers_.reserve(count + count / 4);
  result.pool_.reserve(2 * count);
  result.by_local_id_.resize(
      computation->next_unique_instruction_internal_id() + count / 4, -1);
  const std::vector<HloInstruction*>& order = sequence.instructions();
  for (size_t i = 0; i < count; ++i) {
    // Instructions lie apart in memory.
    if (i + kFetchedAhead < count) {
      absl::PrefetchToLocalCache(order[i + kFetchedAhead]);
    }
    HloInstruction* instruction = order[i];
    TF_ASSIGN_OR_RETURN(const RematItemId id, result.AddItem(instruction));
    for (RematBufferId buffer : result.items_[id].used) {
      result.buffers_[buffer].users.push_back(id);
    }
  }
  const HloInstruction* root = computation->root_instruction();
  const RematItemId root_id = result.Find(root);
  if (root_id < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the schedule lacks ", root->name()));
  }
  for (RematBufferId id : result.outputs(result.items_[root_id])) {
    RematBuffer& buffer = result.buffers_[id];
    buffer.live_out = true;
    buffer.elsewhere = true;
    buffer.bytes = 0;
  }
  return result;
}

}  // namespace xla
