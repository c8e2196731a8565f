#ifndef XLA_HLO_IR_HLO_COMPUTATION_H_
#define XLA_HLO_IR_HLO_COMPUTATION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/backend_config.h"
#include "xla/hlo/ir/dfs_hlo_visitor.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_computation_builder.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/ir/name_uniquer.h"
#include "xla/iterator_util.h"
#include "xla/printer.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/shape_tree.h"
#include "xla/xla_data.pb.h"

namespace xla {

class HloModule;

// A function of HLO: instructions with one root, whose value is the result, and
// parameters numbered from 0.
//
// Storage. Instructions live in slots indexed by their local id. Removing one
// leaves an empty slot and keeps the object alive (marked dead) until
// Cleanup(), which deletes such objects and closes the gaps. So pointers held
// by a running pass stay valid, ids are dense enough to index arrays with
// (bound: next_unique_instruction_internal_id()), and instructions() runs in
// the order of addition. Only Cleanup() and CanonicalizeLocalIds() change ids.
//
// Callers and callees are kept up to date by the instructions of the module:
// queries about them never scan.
class HloComputation {
 public:
  using InstructionList = HloInstructionList;

  using Builder = HloComputationBuilder;
  using MetadataBuilder = HloComputationMetadataBuilder;
  using CachingPostOrder = HloComputationCachingPostOrder;

  ~HloComputation();
  HloComputation(const HloComputation&) = delete;
  HloComputation& operator=(const HloComputation&) = delete;

  // Adds an instruction that is not a parameter. Its name is made unique in the
  // module, after new_name, if not empty, has replaced it. Metadata and
  // frontend attributes are set if given.
  HloInstruction* AddInstruction(std::unique_ptr<HloInstruction> instruction,
                                 absl::string_view new_name = "");
  HloInstruction* AddInstruction(std::unique_ptr<HloInstruction> instruction,
                                 const OpMetadata* metadata);
  HloInstruction* AddInstruction(std::unique_ptr<HloInstruction> instruction,
                                 const OpMetadata* metadata,
                                 const FrontendAttributes* frontend_attributes);

  // Local id the next instruction will get: all ids in use are smaller.
  int32_t next_unique_instruction_internal_id() const {
    return static_cast<int32_t>(instructions_.size());
  }

  // Gives the clones of source_computation's instructions (per context) the
  // local ids of their originals. All instructions must be such clones.
  void CopyLocalIdsFromComputation(const HloComputation& source_computation,
                                   const HloCloneContext& context);

  // --- Parameters. Numbers of later parameters shift on removal. -----------

  // Puts `instruction`, a parameter with that number, in place of a parameter
  // of a fused computation; uses move over.
  HloInstruction* ReplaceParameter(int64_t param_no,
                                   std::unique_ptr<HloInstruction> instruction);
  // Only for parameters of fused computations, without users; adjusting the
  // callers' operands is up to the caller.
  absl::Status RemoveParameter(int64_t param_no);
  // Remove all parameters without users.
  absl::Status RemoveUnusedParametersFromFusedComputation();
  absl::Status RemoveUnusedParametersFromAnyComputation();
  // Removes a parameter without users and the operand each caller passes for
  // it; those operands are appended to released_operands. FailedPrecondition if
  // some caller is not a fusion, call or async-start, or aliases the operand;
  // nothing changes in that case. The shapes of async chains are updated.
  absl::Status RemoveUnusedParameterAndOperands(
      int64_t param_no,
      std::vector<HloInstruction*>* released_operands = nullptr);
  // `instruction` is a parameter with number num_parameters(). AddParameter is
  // for fused computations, AddEntryComputationParameter for the entry
  // computation, whose layout in the module's config is extended.
  HloInstruction* AddParameter(std::unique_ptr<HloInstruction> instruction);
  HloInstruction* AddEntryComputationParameter(
      std::unique_ptr<HloInstruction> instruction);
  // Replaces parameter `param_no`, which is old_instruction, and its layout in
  // the config; users move over.
  absl::Status ReplaceEntryComputationParameter(
      int64_t param_no, HloInstruction* old_instruction,
      std::unique_ptr<HloInstruction> instruction);
  // New parameter i is old parameter permutation[i].
  absl::Status PermuteParameters(absl::Span<const int64_t> permutation);

  int64_t num_parameters() const {
    return static_cast<int64_t>(param_instructions_.size());
  }
  HloInstruction* parameter_instruction(int64_t param_no) const {
    CHECK_GE(param_no, 0);
    CHECK_LT(param_no, num_parameters());
    return param_instructions_[param_no];
  }
  const HloInstruction::InstructionVector& parameter_instructions() const {
    return param_instructions_;
  }

  // --- Removal --------------------------------------------------------------

  // The instruction must be dead (no users, not the root), have no control
  // dependencies and be safely removable; FailedPrecondition otherwise.
  absl::Status RemoveInstruction(HloInstruction* instruction);
  // Ignores control dependencies (they are dropped), whether the instruction
  // is removable, and side effects. It must not have users or be the root.
  absl::Status ForceRemoveInstruction(HloInstruction* instruction);

  // Called computation -> its call sites.
  using CallersFn =
      absl::FunctionRef<std::vector<HloInstruction*>(const HloComputation*)>;

  // Removes a dead instruction and then, transitively, its operands that became
  // dead, are removable and have no side effect. `cleanup` is called with each
  // before its removal. With ignore_control_dependencies, predecessors are
  // connected to successors before an instruction is removed.
  // `computation_callers` also allows the removal of parameters of called
  // computations, with the callers' operands.
  absl::Status RemoveInstructionAndUnusedOperands(
      HloInstruction* instruction,
      std::optional<absl::FunctionRef<void(HloInstruction*)>> cleanup =
          std::nullopt,
      bool ignore_control_dependencies = false,
      std::optional<CallersFn> computation_callers = std::nullopt,
      bool remove_dead_parameters_from_entry_computation = false);

  // False if the instruction has control dependencies (unless ignored) or is a
  // parameter. A parameter is removable
  // - from a fused computation,
  // - if computation_callers is given, there are callers and all are fusion,
  //   call or async-start,
  // - from the entry computation, if requested.
  bool IsSafelyRemovable(
      const HloInstruction* instruction, bool ignore_control_dependency = false,
      std::optional<CallersFn> computation_callers = std::nullopt,
      bool remove_dead_parameters_from_entry_computation = false) const;

  // True if the instruction was removed and is deleted by the next Cleanup().
  bool IsMarkedAsDead(const HloInstruction* inst) const;

  // Deletes removed instructions and makes local ids dense, in the same order.
  // Keeps the module's schedule up to date. O(slots) if anything was removed,
  // else O(1).
  void Cleanup();
  // Cleanup(), then renumbers the instructions in post order.
  void CanonicalizeLocalIds();

  // --- Replacement ----------------------------------------------------------

  // Replaces all uses of the old instruction by the new one and removes the old
  // one with its unused operands (remove_unused_operands) or alone. The new one
  // inherits what it lacks: metadata, the frontend attributes of an instruction
  // of the same shape (preserve_frontend_attributes), and the name if the old
  // one is removed.
  //
  // With preserve_sharding: takes the old sharding if the new one has none, and
  // gives up (false, nothing changed) if the shardings differ. With
  // relay_control_dependency: inherits control dependencies; without it, an old
  // instruction that has some is not replaced (false, nothing changed).
  absl::StatusOr<bool> ReplaceInstruction(
      HloInstruction* old_instruction, HloInstruction* new_instruction,
      bool preserve_sharding, bool relay_control_dependency = false,
      bool remove_unused_operands = true,
      bool preserve_frontend_attributes = true);
  // The same; an instruction with control dependencies is an error.
  absl::Status ReplaceInstruction(HloInstruction* old_instruction,
                                  HloInstruction* new_instruction);
  // As above, but shapes may differ: the users must accept the new one.
  absl::StatusOr<bool> ReplaceInstructionWithDifferentShape(
      HloInstruction* old_instruction, HloInstruction* new_instruction,
      bool preserve_sharding, bool relay_control_dependency = false,
      bool remove_unused_operands = true,
      bool preserve_frontend_attributes = true);
  absl::Status ReplaceInstructionWithDifferentShape(
      HloInstruction* old_instruction, HloInstruction* new_instruction);
  // Adds the new instruction, then as above, but failing to replace is an
  // error.
  absl::Status ReplaceWithNewInstruction(
      HloInstruction* old_instruction,
      std::unique_ptr<HloInstruction> new_instruction,
      bool preserve_sharding = false, bool relay_control_dependency = false,
      bool remove_unused_operands = true,
      bool preserve_frontend_attributes = true);
  // Replaces any instruction of the entry computation by a new parameter.
  absl::Status ReplaceWithNewEntryComputationParameter(
      HloInstruction* old_instruction,
      std::unique_ptr<HloInstruction> new_instruction);

  // The shape may change only if accept_different_shape is set.
  void set_root_instruction(HloInstruction* new_root_instruction,
                            bool accept_different_shape = false);
  HloInstruction* root_instruction() const { return root_instruction_; }

  // --- Names and ids --------------------------------------------------------

  absl::string_view name() const { return name_; }
  // For names that must be kept as they are; all others go through
  // UniquifyName.
  void SetAndSanitizeName(absl::string_view name);
  void UniquifyName(NameUniquer* name_uniquer);
  // Makes the name unique among the module's computations.
  void UniquifyName(HloModule* module);

  // -1 while the computation belongs to no module. Instruction ids have
  // it as their upper half.
  int64_t unique_id() const { return unique_id_; }
  void SetUniqueId(int64_t id);
  void ClearUniqueIdInternal() { unique_id_ = -1; }

  void SetExecutionThread(absl::string_view execution_thread) {
    execution_thread_ = std::string(execution_thread);
  }
  absl::string_view execution_thread() const { return execution_thread_; }
  bool IsMainThread() const {
    return execution_thread_ == HloInstruction::kMainExecutionThread;
  }

  // Null if there is none. O(instructions), O(1).
  HloInstruction* GetInstructionWithName(absl::string_view name);
  HloInstruction* GetInstructionWithLocalId(int32_t local_id);

  // --- Text and proto -------------------------------------------------------

  void Print(Printer* printer) const {
    return Print(printer, HloPrintOptions::Default());
  }
  // In MakeInstructionPostOrder order unless one is given.
  void Print(Printer* printer, const HloPrintOptions& options) const;
  void Print(Printer* printer, const HloPrintOptions& options,
             absl::Span<const HloInstruction* const> instruction_order) const;
  std::string ToString() const;
  std::string ToString(const HloPrintOptions& options) const;
  std::string ToString(
      const HloPrintOptions& options,
      absl::Span<const HloInstruction* const> instruction_order) const;
  // An empty order stands for the post order.
  absl::Cord ToCord(
      const HloPrintOptions& options,
      absl::Span<const HloInstruction* const> instruction_order) const;

  void ToProto(HloComputationProto* proto,
               HloProtoOptions options = HloProtoOptions()) const;
  // Called computations come from computation_map, by proto id. With
  // preserve_instruction_ids the local ids of the proto are kept; otherwise
  // instructions are numbered in proto order and id_remap_map, if given, gets
  // proto id -> new local id.
  static absl::StatusOr<std::unique_ptr<HloComputation>> CreateFromProto(
      const HloComputationProto& proto,
      const absl::flat_hash_map<int64_t, HloComputation*>& computation_map,
      bool prohibit_empty_literal = true, bool preserve_instruction_ids = true,
      absl::flat_hash_map<int64_t, int64_t>* id_remap_map = nullptr,
      absl::Span<const std::shared_ptr<BackendConfigWrapper>> backend_configs =
          {});

  // --- Instructions and orders ----------------------------------------------

  using InstructionSequence =
      tsl::gtl::iterator_range<HloInstructionUnwrappingIterator>;
  using ConstInstructionSequence =
      tsl::gtl::iterator_range<HloInstructionUnwrappingConstIterator>;

  // All instructions in storage order. Iterators survive additions and
  // removals; instructions added during the iteration are not visited.
  ConstInstructionSequence instructions() const {
    return Slots<HloInstructionUnwrappingConstIterator>(&instructions_);
  }
  InstructionSequence instructions() {
    return Slots<HloInstructionUnwrappingIterator>(&instructions_);
  }
  // The same with each instruction's opcode, which needs no access to it.
  tsl::gtl::iterator_range<HloInstructionIterator> instructions_with_info() {
    return Slots<HloInstructionIterator>(&instructions_);
  }
  tsl::gtl::iterator_range<HloInstructionConstIterator> instructions_with_info()
      const {
    return Slots<HloInstructionConstIterator>(&instructions_);
  }

  // O(1).
  int64_t instruction_count() const { return instruction_count_; }

  // All instructions, operands and control predecessors before their users.
  // Depends on graph and storage order only: a depth-first walk from each
  // instruction without users, in storage order. Iterative, O(instructions +
  // edges).
  std::vector<HloInstruction*> MakeInstructionPostOrder() const;
  // The part that `instruction` depends on, itself included.
  std::vector<HloInstruction*> MakeInstructionPostOrderFrom(
      HloInstruction& instruction) const;
  // Reshapes come as early as their operands allow.
  std::vector<HloInstruction*> MakeInstructionPostOrderWithReshapeFirst() const;
  // Calls `func` in the order of MakeInstructionPostOrder. The function may add
  // and remove instructions.
  void ForEachInstructionPostOrder(
      absl::FunctionRef<void(HloInstruction*)> func) const;

  // All computations reachable through calls from here, itself excluded,
  // callees first.
  std::vector<HloComputation*> MakeEmbeddedComputationsList() const;

  // --- Outlining ------------------------------------------------------------

  // Replace `instructions`, users before operands, the first being the root,
  // by a fusion / call of a new computation that holds their clones.
  HloInstruction* CreateFusionInstruction(
      absl::Span<HloInstruction* const> instructions_to_fuse,
      HloInstruction::FusionKind fusion_kind);
  HloInstruction* CreateCallInstruction(
      absl::Span<HloInstruction* const> instructions_to_call);
  HloInstruction* CreateCompositeCallInstruction(
      absl::Span<HloInstruction* const> instructions_to_call,
      const std::string& name, const std::string& attributes, int64_t version);

  // Splits an instruction into async-start and async-done around a computation
  // that holds it, with `context_shapes` as the state between. Returns the
  // done. Unless `replace` is false, it takes the instruction's place and
  // control dependencies. override_names uses the instruction's name for the
  // new ones.
  //
  //   x = op(a)  ==>  s = async-start(a), calls={op}; x' = async-done(s)
  absl::StatusOr<HloInstruction*> CreateAsyncInstructions(
      HloInstruction* instruction, absl::Span<const Shape> context_shapes,
      absl::string_view async_execution_thread =
          HloInstruction::kMainExecutionThread,
      bool replace = true, bool override_names = false);

  // Copies a value with all its tuple leaves: arrays by kCopy, tuples by
  // get-tuple-element and tuple. Leaves whose element of indices_to_copy is
  // false are not copied but passed on. copies_added gets the copies.
  absl::StatusOr<HloInstruction*> DeepCopyInstruction(
      HloInstruction* instruction,
      const ShapeTree<bool>* indices_to_copy = nullptr,
      ShapeTree<HloInstruction*>* copies_added = nullptr);
  // The same with copies made by the given function.
  absl::StatusOr<HloInstruction*> DeepCopyInstructionWithCustomCopier(
      HloInstruction* instruction,
      absl::FunctionRef<HloInstruction*(HloInstruction* leaf,
                                        const ShapeIndex& leaf_index,
                                        HloComputation* computation)>
          copy_leaf);

  // Shapes of parameters and root. Parameter names lose what follows the first
  // '.' if include_ids is false.
  ProgramShape ComputeProgramShape(bool include_ids = true) const;

  // --- Comparison -----------------------------------------------------------

  using ComputationComparator =
      absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>;

  // Deep structural equality: roots, operands, callees; names do not matter.
  // computations_comparator decides on callees instead, if given. Iterative,
  // O(instructions + edges).
  bool Equal(const HloComputation& other, bool is_layout_sensitive,
             std::optional<ComputationComparator> computations_comparator =
                 std::nullopt) const;
  bool EqualIgnoringChannelIdValues(
      const HloComputation& other, bool is_layout_sensitive,
      std::optional<ComputationComparator> computations_comparator =
          std::nullopt) const;
  bool EqualIgnoringExecutionThread(
      const HloComputation& other, bool is_layout_sensitive,
      bool ignore_channel_id_values,
      std::optional<ComputationComparator> computations_comparator =
          std::nullopt) const;
  bool operator==(const HloComputation& other) const {
    return Equal(other, /*is_layout_sensitive=*/true);
  }
  bool operator!=(const HloComputation& other) const {
    return !(*this == other);
  }

  // Consistent with operator==.
  template <typename H>
  friend H AbslHashValue(H h, const HloComputation& computation) {
    return H::combine(std::move(h), computation.StructuralHash());
  }

  const HloModule* parent() const { return parent_; }
  HloModule* parent() { return parent_; }

  // --- Visiting -------------------------------------------------------------

  // Visits all instructions, operands first, the root last, then FinishVisit.
  template <typename HloInstructionPtr>
  absl::Status Accept(DfsHloVisitorBase<HloInstructionPtr>* visitor) const;
  // Operands are visited in the order of `operand_order`.
  absl::Status AcceptWithOperandOrder(
      DfsHloVisitor* visitor,
      const HloInstruction::CompareFunction& operand_order) const;
  // Visits exactly `order`, which must not contradict the operands.
  template <typename HloInstructionPtr>
  absl::Status AcceptOrdered(DfsHloVisitorBase<HloInstructionPtr>* visitor,
                             absl::Span<HloInstruction* const> order) const;

  // --- Cloning --------------------------------------------------------------

  using ReplacementMap = absl::flat_hash_map<const HloInstruction*,
                                             std::unique_ptr<HloInstruction>>;
  // One root, or several that become a tuple; null stands for the root.
  using NewRoot = std::variant<const HloInstruction*,
                               const absl::Span<HloInstruction* const>>;

  // A copy named `<name>.<suffix>` with storage in the same order, for the
  // context's module (without context: for this one). Callees that belong to
  // another module are cloned into it, once per context; of the others, only
  // fused and async computations are cloned, because they must have a single
  // caller.
  std::unique_ptr<HloComputation> Clone(const std::string& suffix = "clone",
                                        HloCloneContext* context = nullptr);
  // Also the clones along the module's schedule of this computation, empty if
  // it has none.
  std::pair<std::unique_ptr<HloComputation>, std::vector<HloInstruction*>>
  CloneWithSchedule(const std::string& suffix = "clone",
                    HloCloneContext* context = nullptr);

  // A clone in which instructions are replaced: a null replacement drops the
  // instruction (nothing kept may use it), any other is put in its place; its
  // operands are instructions of this computation and are mapped to their
  // clones. extra_parameters are added first.
  std::unique_ptr<HloComputation> CloneWithReplacements(
      const ReplacementMap* replacements,
      absl::Span<const HloInstruction* const> extra_parameters = {},
      HloCloneContext* context = nullptr, const std::string& suffix = "clone",
      NewRoot new_root = nullptr);
  std::pair<std::unique_ptr<HloComputation>, std::vector<HloInstruction*>>
  CloneWithScheduleAndReplacements(
      const ReplacementMap* replacements,
      absl::Span<const HloInstruction* const> extra_parameters = {},
      HloCloneContext* context = nullptr, const std::string& suffix = "clone",
      NewRoot new_root = nullptr);
  std::unique_ptr<HloComputation> CloneInContext(
      HloCloneContext& context, const ReplacementMap* replacements = nullptr,
      absl::Span<const HloInstruction* const> extra_parameters = {},
      const std::string& suffix = "clone", NewRoot new_root = nullptr,
      std::vector<HloInstruction*>* clone_sequence = nullptr) const;

  using ReplacementPair =
      std::pair<const HloInstruction*, std::unique_ptr<HloInstruction>>;
  std::unique_ptr<HloComputation> CloneWithReplacementPairs(
      ReplacementPair r1, HloCloneContext* context = nullptr,
      const std::string& suffix = "clone");
  std::unique_ptr<HloComputation> CloneWithReplacementPairs(
      ReplacementPair r1, ReplacementPair r2,
      HloCloneContext* context = nullptr, const std::string& suffix = "clone");
  std::unique_ptr<HloComputation> CloneWithReplacementPairs(
      ReplacementPair r1, ReplacementPair r2, ReplacementPair r3,
      HloCloneContext* context = nullptr, const std::string& suffix = "clone");

  // --- Facts ----------------------------------------------------------------

  // Whether any instruction, here or in callees, has a side effect.
  bool HasSideEffect() const;
  bool IsEntryComputation() const;
  bool IsFusionComputation() const;
  // The fusion that calls this, the first one if there are several; null if
  // there is none.
  HloInstruction* FusionInstruction() const;
  bool IsAsyncComputation() const;
  // Not the entry computation and not called.
  bool IsDeadComputation() const {
    return !IsEntryComputation() && callers_.empty();
  }
  // Only send, recv, their dones, and what feeds them.
  bool OnlyContainsSendRecv();
  // The root is the only instruction that is not a parameter, and uses each
  // parameter once, in order: a single instruction can take its place.
  bool CanExpandIntoSingleInstruction() const;

  // --- Callers and callees --------------------------------------------------

  struct UniqueIdComparator {
    bool operator()(const HloComputation* lhs,
                    const HloComputation* rhs) const {
      return lhs->unique_id() < rhs->unique_id();
    }
  };
  using CountByComputation =
      absl::btree_map<HloComputation*, int, UniqueIdComparator>;

  // The number of references from this computation to each callee / from each
  // caller to this one. A while with body == condition counts twice.
  CountByComputation callee_computations() const;
  CountByComputation caller_computations() const;

  // Instructions that call this, each once, ordered by unique id.
  absl::InlinedVector<HloInstruction*, 1> caller_instructions(
      std::optional<HloOpcode> caller_opcode = std::nullopt) const;
  // The caller with that opcode if there is exactly one.
  std::optional<HloInstruction*> GetUniqueCaller(HloOpcode opcode) const;

  void ClearCalledComputations();

 private:
  friend class HloModule;
  friend class HloInstruction;
  friend class HloComputationBuilder;

  HloComputation(const std::string& name, int parameter_count,
                 std::vector<std::unique_ptr<HloInstruction>>* instructions,
                 HloInstruction* root_instruction);

  template <typename Iterator, typename List>
  static tsl::gtl::iterator_range<Iterator> Slots(List* list) {
    using Wrapped = HloInstructionIteratorBase<List>;
    const int size = static_cast<int>(list->size());
    return {Iterator(Wrapped(list, 0, size)),
            Iterator(Wrapped(list, size, size))};
  }

  // Adds the instruction and registers its callees. Leaves its name alone.
  HloInstruction* AppendInstruction(HloInstruction* instruction);
  HloInstruction* AddInstructionInternal(
      std::unique_ptr<HloInstruction> instruction);

  // Hooks of HloInstruction: `caller`, an instruction of this computation,
  // starts / stops referring to `callee`. One call per reference.
  void AddCallee(HloInstruction* caller, HloComputation* callee);
  void RemoveCallee(HloInstruction* caller, HloComputation* callee);

  absl::Status RemoveInstructionImpl(HloInstruction* instruction,
                                     bool ignore_safety_check);
  // Whether every caller can drop the operand it passes for the parameter.
  bool CallersCanDropOperand(int64_t param_no) const;
  absl::Status RemoveUnusedParametersImpl(bool allow_non_fusion);

  // Moves the control dependencies of one instruction to another.
  static absl::Status RelayControlDependencies(HloInstruction* old_instruction,
                                               HloInstruction* new_instruction);

  // A hash of the root and its transitive operands, without callees.
  size_t StructuralHash() const;

  bool EqualInternal(const HloComputation& other, bool is_layout_sensitive,
                     std::optional<ComputationComparator> comparator,
                     bool ignore_channel_id_values,
                     bool ignore_execution_thread) const;

  // Moves all instructions (users first) but the first into the computation
  // that `caller` calls, and replaces the first by `caller`.
  void AppendInstructionsIntoCalledComputation(
      absl::Span<HloInstruction* const> instructions_to_append,
      HloInstruction* caller);

  int64_t unique_id_ = -1;
  HloInstruction* root_instruction_ = nullptr;
  HloModule* parent_ = nullptr;
  // Slots by local id; empty ones hold null.
  HloInstructionList instructions_;
  int64_t instruction_count_ = 0;
  HloInstruction::InstructionVector param_instructions_;
  std::vector<HloInstruction*> to_be_deleted_;
  std::string name_;
  std::string execution_thread_ =
      std::string(HloInstruction::kMainExecutionThread);
  // Number of references by caller / callee.
  absl::flat_hash_map<HloInstruction*, int> callers_;
  absl::flat_hash_map<HloComputation*, int> callees_;
  // Position in the module's list.
  int32_t position_in_module_ = -1;
  // The module's uniquer knows the names of the instructions.
  bool names_are_registered_ = false;
};

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_COMPUTATION_H_
