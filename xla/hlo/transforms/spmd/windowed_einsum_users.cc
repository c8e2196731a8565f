#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/log/check.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/windowed_einsum.h"
#include "xla/hlo/utils/collectives/reduction_kind.h"
#include "xla/literal.h"
#include "xla/shape_util.h"

// Each step of a ring that fills windows of its result could hand the window to
// what reads the result. Where elementwise instructions and reduces are all
// that does, only what the reduces make of the windows is kept, and the result
// is never there as a whole.
//
//   before: while((.., f32[4,3,10], ..)), whose steps write f32[4,3,5] each
//           reduce(2 * result), dimensions={2}
//   after:  while((.., (f32[4,3]), ..)), whose steps add reduce(2 * window)
//
// Reduces are of one operand with a neutral initial value, so that sums may be
// begun anew for each window; none depends on another one.

namespace xla::spmd {
namespace {

// The element of the state of a ring that holds its result.
constexpr int64_t kResult = 2;

struct Users {
  // dynamic-update-slices that write windows into the result behind the loop.
  std::vector<HloInstruction*> writes;
  // The result without padding; the last write where there is none.
  HloInstruction* result = nullptr;
  // Along which there are windows.
  int64_t dim = -1;
  // In post order, all of the shape of `result`, and those that are read.
  std::vector<HloInstruction*> elementwise;
  std::vector<HloInstruction*> reduces;
  // What elementwise instructions read beside them: broadcasts that are the
  // same for all windows. The loop carries their operands.
  std::vector<HloInstruction*> broadcasts;
};

bool DependsOn(const HloInstruction* hlo, const HloInstruction* source) {
  absl::flat_hash_set<const HloInstruction*> seen = {hlo};
  std::vector<const HloInstruction*> stack = {hlo};
  while (!stack.empty()) {
    const HloInstruction* reader = stack.back();
    stack.pop_back();
    if (reader == source) return true;
    for (const HloInstruction* operand : reader->operands()) {
      if (seen.insert(operand).second) stack.push_back(operand);
    }
  }
  return false;
}

// Whether a slice takes off what is behind some element along `dim`, and
// nothing else: windows keep their places.
bool CutsOnlyTheEnd(const HloInstruction* slice, int64_t dim) {
  const Shape& whole = slice->operand(0)->shape();
  for (int64_t d = 0; d < whole.dimensions().size(); ++d) {
    if (slice->slice_starts(d) != 0 || slice->slice_strides(d) != 1 ||
        (d != dim && slice->slice_limits(d) != whole.dimensions(d))) {
      return false;
    }
  }
  return true;
}

// A reduction whose windows can be reduced one by one.
bool IsSimpleReduce(const HloInstruction* hlo) {
  if (hlo->opcode() != HloOpcode::kReduce || hlo->operand_count() != 2) {
    return false;
  }
  const std::optional<ReductionKind> kind =
      MatchReductionComputation(hlo->to_apply());
  const HloInstruction* init = hlo->operand(1);
  if (!kind.has_value() || !init->IsConstant() || init->literal().is_elided()) {
    return false;
  }
  const std::optional<Literal> neutral =
      GetReductionIdentity(*kind, hlo->shape().element_type());
  return neutral.has_value() && init->literal() == *neutral;
}

// The writes behind the loop, in order; empty where something else reads what
// is not complete yet.
void CollectWrites(HloInstruction* loop, Users* users) {
  HloInstruction* partial = nullptr;
  for (HloInstruction* user : loop->users()) {
    if (user->opcode() != HloOpcode::kGetTupleElement) return;
    if (user->tuple_index() == kResult) partial = user;
  }
  while (partial != nullptr && partial->user_count() == 1) {
    HloInstruction* write = partial->users()[0];
    if (write->opcode() != HloOpcode::kDynamicUpdateSlice ||
        write->operand(0) != partial) {
      return;
    }
    users->writes.push_back(write);
    partial = write;
    // The last one may have one user, too: a slice, or what is to be moved.
    if (write->user_count() != 1 ||
        write->users()[0]->opcode() != HloOpcode::kDynamicUpdateSlice) {
      return;
    }
  }
}

// Sorts what reads the result, directly or through elementwise instructions,
// into `users`. False where something reads it that cannot be moved.
bool CollectReaders(const HloInstruction* loop, Users* users) {
  absl::flat_hash_set<HloInstruction*> group = {users->result};
  std::vector<HloInstruction*> stack = {users->result};
  while (!stack.empty()) {
    HloInstruction* value = stack.back();
    stack.pop_back();
    if (value == value->parent()->root_instruction()) return false;
    for (HloInstruction* user : value->users()) {
      if (user->opcode() == HloOpcode::kReduce) {
        if (!IsSimpleReduce(user) || user->operand(1) == value) return false;
        if (!absl::c_linear_search(users->reduces, user)) {
          users->reduces.push_back(user);
        }
        continue;
      }
      if (!user->IsElementwise() || user->HasSideEffect() ||
          !user->called_computations().empty() ||
          !ShapeUtil::SameDimensions(user->shape(), users->result->shape())) {
        return false;
      }
      if (group.insert(user).second) stack.push_back(user);
    }
  }
  if (users->reduces.empty()) return false;
  for (HloInstruction* hlo :
       users->result->parent()->MakeInstructionPostOrder()) {
    if (hlo == users->result || !group.contains(hlo)) continue;
    users->elementwise.push_back(hlo);
    for (HloInstruction* operand : hlo->mutable_operands()) {
      if (group.contains(operand) ||
          absl::c_linear_search(users->broadcasts, operand)) {
        continue;
      }
      if (operand->opcode() != HloOpcode::kBroadcast ||
          absl::c_linear_search(operand->dimensions(), users->dim) ||
          DependsOn(operand, loop)) {
        return false;
      }
      users->broadcasts.push_back(operand);
    }
  }
  return true;
}

std::optional<Users> MovableUsers(HloInstruction* loop) {
  Users users;
  CollectWrites(loop, &users);
  if (users.writes.empty()) return std::nullopt;
  HloInstruction* last = users.writes.back();
  const Shape& part = last->operand(1)->shape();
  for (int64_t d = 0; d < part.dimensions().size(); ++d) {
    if (part.dimensions(d) != last->shape().dimensions(d)) users.dim = d;
  }
  users.result = last;
  if (last->user_count() == 1 &&
      last->users()[0]->opcode() == HloOpcode::kSlice &&
      CutsOnlyTheEnd(last->users()[0], users.dim)) {
    users.result = last->users()[0];
  }
  if (users.dim < 0 || !CollectReaders(loop, &users)) return std::nullopt;
  for (const auto* group :
       {&users.writes, &users.elementwise, &users.reduces, &users.broadcasts}) {
    for (const HloInstruction* hlo : *group) {
      if (hlo->HasControlDependencies()) return std::nullopt;
    }
  }
  if (users.result->HasControlDependencies()) return std::nullopt;
  return users;
}

// Emits what a step makes of its window, into a computation or its builder.
template <typename B>
class WindowReader {
 public:
  // `leaves` are the operands of the broadcasts.
  WindowReader(const Users& users, std::vector<HloInstruction*> leaves, B* b)
      : users_(users), leaves_(std::move(leaves)), b_(b) {}

  // What the reduces have so far, after the window that `write` would write;
  // `part` and `start` are its update and place.
  void Read(HloInstruction* part, HloInstruction* start,
            std::vector<HloInstruction*>* kept) {
    absl::flat_hash_map<const HloInstruction*, HloInstruction*> windows;
    windows[users_.result] = part;
    for (int64_t i = 0; i < users_.broadcasts.size(); ++i) {
      HloInstruction* broadcast = users_.broadcasts[i];
      windows[broadcast] = b_->AddInstruction(broadcast->CloneWithNewOperands(
          ShapeUtil::ChangeElementType(part->shape(),
                                       broadcast->shape().element_type()),
          {leaves_[i]}));
    }
    for (HloInstruction* hlo : users_.elementwise) {
      std::vector<HloInstruction*> operands;
      for (const HloInstruction* operand : hlo->operands()) {
        operands.push_back(windows.at(operand));
      }
      windows[hlo] = b_->AddInstruction(hlo->CloneWithNewOperands(
          ShapeUtil::ChangeElementType(part->shape(),
                                       hlo->shape().element_type()),
          operands));
      windows[hlo]->clear_sharding();
    }
    for (int64_t i = 0; i < users_.reduces.size(); ++i) {
      (*kept)[i] =
          Reduce(users_.reduces[i], windows.at(users_.reduces[i]->operand(0)),
                 start, (*kept)[i]);
    }
  }

  // What a reduce has before any window.
  HloInstruction* Nothing(const HloInstruction* reduce) {
    return CreateConstant(KeptShape(reduce),
                          reduce->operand(1)->literal().Clone(), b_);
  }

 private:
  bool ReducesWindows(const HloInstruction* reduce) const {
    return absl::c_linear_search(reduce->dimensions(), users_.dim);
  }

  // The dimension of the result of a reduce along which there are windows.
  int64_t KeptDim(const HloInstruction* reduce) const {
    return users_.dim - absl::c_count_if(reduce->dimensions(), [&](int64_t d) {
             return d < users_.dim;
           });
  }

  Shape KeptShape(const HloInstruction* reduce) const {
    Shape shape = reduce->shape();
    if (!ReducesWindows(reduce)) {
      shape.set_dimensions(
          KeptDim(reduce),
          users_.writes.back()->shape().dimensions(users_.dim));
    }
    return shape;
  }

  // Elements beyond the result, in a window at `start`, become neutral.
  HloInstruction* Masked(HloInstruction* window, HloInstruction* start,
                         HloInstruction* neutral) {
    const int64_t size = users_.result->shape().dimensions(users_.dim);
    const Shape& shape = window->shape();
    if (size == users_.writes.back()->shape().dimensions(users_.dim)) {
      return window;
    }
    const Shape places = ShapeUtil::MakeShape(S32, shape.dimensions());
    HloInstruction* limit = b_->AddInstruction(HloInstruction::CreateBinary(
        start->shape(), HloOpcode::kSubtract,
        CreateR0WithType(S32, static_cast<int32_t>(size), b_), start));
    HloInstruction* valid = b_->AddInstruction(HloInstruction::CreateCompare(
        ShapeUtil::ChangeElementType(places, PRED),
        b_->AddInstruction(HloInstruction::CreateIota(places, users_.dim)),
        b_->AddInstruction(HloInstruction::CreateBroadcast(places, limit, {})),
        ComparisonDirection::kLt));
    return b_->AddInstruction(HloInstruction::CreateTernary(
        shape, HloOpcode::kSelect, valid, window,
        b_->AddInstruction(
            HloInstruction::CreateBroadcast(shape, neutral, {}))));
  }

  HloInstruction* Reduce(HloInstruction* reduce, HloInstruction* window,
                         HloInstruction* start, HloInstruction* kept) {
    HloInstruction* neutral = b_->AddInstruction(
        HloInstruction::CreateConstant(reduce->operand(1)->literal().Clone()));
    Shape shape = reduce->shape();
    if (ReducesWindows(reduce)) {
      window = Masked(window, start, neutral);
    } else {
      shape.set_dimensions(KeptDim(reduce),
                           window->shape().dimensions(users_.dim));
    }
    HloInstruction* reduced = b_->AddInstruction(
        reduce->CloneWithNewOperands(shape, {window, neutral}));
    reduced->clear_sharding();
    if (ReducesWindows(reduce)) {
      return b_->AddInstruction(HloInstruction::CreateBinary(
          shape,
          ReductionKindToOpcode(*MatchReductionComputation(reduce->to_apply()),
                                shape.element_type()),
          kept, reduced));
    }
    std::vector<HloInstruction*> starts;
    for (int64_t d = 0; d < shape.dimensions().size(); ++d) {
      starts.push_back(
          d == KeptDim(reduce) ? start : CreateR0WithType(S32, int32_t{0}, b_));
    }
    return b_->AddInstruction(HloInstruction::CreateDynamicUpdateSlice(
        kept->shape(), kept, reduced, starts));
  }

  const Users& users_;
  const std::vector<HloInstruction*> leaves_;
  B* b_;
};

// A copy of the body or condition over the new state, whose element `kResult`
// is a tuple of what reduces have, and of the operands of the broadcasts.
HloComputation* OverReduces(HloComputation* computation, const Shape& state,
                            const Users& users, HloModule* module) {
  HloComputation::Builder b(computation->name());
  HloInstruction* parameter =
      b.AddInstruction(HloInstruction::CreateParameter(0, state, "state"));
  const auto get = [&](HloInstruction* tuple, int64_t i) {
    return b.AddInstruction(HloInstruction::CreateGetTupleElement(
        tuple->shape().tuple_shapes(i), tuple, i));
  };
  const HloInstruction* root = computation->root_instruction();
  const bool is_body = root->shape().IsTuple();
  std::vector<HloInstruction*> kept, leaves;
  if (is_body) {
    HloInstruction* inner = get(parameter, kResult);
    for (int64_t i = 0; i < inner->shape().tuple_shapes().size(); ++i) {
      (i < users.reduces.size() ? kept : leaves).push_back(get(inner, i));
    }
  }
  WindowReader<HloComputation::Builder> reader(users, leaves, &b);
  absl::flat_hash_map<const HloInstruction*, HloInstruction*> clones;
  for (const HloInstruction* hlo : computation->MakeInstructionPostOrder()) {
    const auto operand = [&](int64_t i) { return clones.at(hlo->operand(i)); };
    if (hlo->opcode() == HloOpcode::kParameter) {
      clones[hlo] = parameter;
    } else if (hlo->opcode() == HloOpcode::kGetTupleElement &&
               hlo->operand(0)->opcode() == HloOpcode::kParameter &&
               hlo->tuple_index() == kResult) {
      clones[hlo] = nullptr;
    } else if (hlo->opcode() == HloOpcode::kDynamicUpdateSlice &&
               operand(0) == nullptr) {
      reader.Read(operand(1), operand(2 + users.dim), &kept);
      clones[hlo] = nullptr;
    } else {
      std::vector<HloInstruction*> operands;
      for (int64_t i = 0; i < hlo->operand_count(); ++i) {
        operands.push_back(operand(i));
      }
      const bool is_state = is_body && hlo == root;
      if (is_state) {
        std::vector<HloInstruction*> inner = kept;
        absl::c_copy(leaves, std::back_inserter(inner));
        operands[kResult] =
            b.AddInstruction(HloInstruction::CreateTuple(inner));
      }
      clones[hlo] = b.AddInstruction(
          hlo->CloneWithNewOperands(is_state ? state : hlo->shape(), operands));
    }
  }
  return module->AddEmbeddedComputation(b.Build(clones.at(root)));
}

}  // namespace

// Rings may write further windows behind the loop: these are read there in the
// same way, from what the loop has reduced so far. All other elements of the
// loop's state stay where they are.
HloInstruction* MoveUsersIntoRing(HloInstruction* loop) {
  HloInstruction* init = loop->mutable_operand(0);
  if (init->opcode() != HloOpcode::kTuple) return nullptr;
  const std::optional<Users> users = MovableUsers(loop);
  if (!users.has_value()) return nullptr;
  HloComputation* computation = loop->parent();
  std::vector<HloInstruction*> leaves;
  for (HloInstruction* broadcast : users->broadcasts) {
    leaves.push_back(broadcast->mutable_operand(0));
  }
  WindowReader<HloComputation> reader(*users, leaves, computation);
  std::vector<HloInstruction*> inner;
  for (const HloInstruction* reduce : users->reduces) {
    inner.push_back(reader.Nothing(reduce));
  }
  absl::c_copy(leaves, std::back_inserter(inner));
  std::vector<HloInstruction*> elements(init->operands().begin(),
                                        init->operands().end());
  elements[kResult] =
      computation->AddInstruction(HloInstruction::CreateTuple(inner));
  HloInstruction* state =
      computation->AddInstruction(HloInstruction::CreateTuple(elements));
  HloModule* module = computation->parent();
  HloInstruction* moved =
      computation->AddInstruction(HloInstruction::CreateWhile(
          state->shape(),
          OverReduces(loop->while_condition(), state->shape(), *users, module),
          OverReduces(loop->while_body(), state->shape(), *users, module),
          state));
  moved->set_metadata(loop->metadata());
  const auto get = [&](HloInstruction* tuple, int64_t i) {
    return computation->AddInstruction(HloInstruction::CreateGetTupleElement(
        tuple->shape().tuple_shapes(i), tuple, i));
  };
  HloInstruction* results = get(moved, kResult);
  std::vector<HloInstruction*> kept;
  for (int64_t i = 0; i < users->reduces.size(); ++i) {
    kept.push_back(get(results, i));
  }
  const std::vector<HloInstruction*> readers(loop->users().begin(),
                                             loop->users().end());
  for (HloInstruction* reader_of_loop : readers) {
    if (reader_of_loop->tuple_index() == kResult) continue;
    CHECK_OK(reader_of_loop->ReplaceAllUsesWith(
        get(moved, reader_of_loop->tuple_index())));
  }
  for (HloInstruction* write : users->writes) {
    reader.Read(write->mutable_operand(1),
                write->mutable_operand(2 + users->dim), &kept);
  }
  for (int64_t i = 0; i < users->reduces.size(); ++i) {
    HloInstruction* reduce = users->reduces[i];
    HloInstruction* value = kept[i];
    if (!ShapeUtil::SameDimensions(value->shape(), reduce->shape())) {
      const std::vector<int64_t> zeros(reduce->shape().dimensions().size(), 0);
      const std::vector<int64_t> ones(zeros.size(), 1);
      value = computation->AddInstruction(HloInstruction::CreateSlice(
          reduce->shape(), value, zeros, reduce->shape().dimensions(), ones));
    }
    const bool is_root = computation->root_instruction() == reduce;
    CHECK_OK(reduce->ReplaceAllUsesWith(value));
    if (is_root) computation->set_root_instruction(value);
  }
  return moved;
}

}  // namespace xla::spmd
