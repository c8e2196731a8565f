#include "xla/hlo/ir/hlo_module.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/literal_util.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

Shape F32Scalar() { return ShapeUtil::MakeShape(F32, {}); }

std::unique_ptr<HloInstruction> Parameter(int number) {
  return HloInstruction::CreateParameter(number, F32Scalar(),
                                         "p" + std::to_string(number));
}

std::unique_ptr<HloComputation> NegateComputation(const std::string& name) {
  HloComputation::Builder builder(name);
  HloInstruction* p = builder.AddInstruction(Parameter(0));
  builder.AddInstruction(
      HloInstruction::CreateUnary(F32Scalar(), HloOpcode::kNegate, p));
  return builder.Build();
}

// Calls the computations one after the other.
std::unique_ptr<HloComputation> CallAll(
    const std::string& name, const std::vector<HloComputation*>& callees) {
  HloComputation::Builder builder(name);
  HloInstruction* x = builder.AddInstruction(Parameter(0));
  for (HloComputation* callee : callees) {
    x = builder.AddInstruction(
        HloInstruction::CreateCall(F32Scalar(), {x}, callee));
  }
  return builder.Build();
}

std::vector<std::string> Names(absl::Span<HloComputation* const> computations) {
  std::vector<std::string> names;
  for (const HloComputation* computation : computations) {
    names.emplace_back(computation->name());
  }
  return names;
}

template <typename Range>
std::vector<std::string> NamesOf(Range&& range) {
  std::vector<HloComputation*> list;
  for (HloComputation* computation : range) list.push_back(computation);
  return Names(list);
}

class HloModuleTest : public ::testing::Test {
 protected:
  // An entry that calls `a`, beside `b`, and a schedule of all three.
  void ScheduleCall() {
    HloComputation* a = module_.AddEmbeddedComputation(NegateComputation("a"));
    HloComputation* entry = module_.AddEntryComputation(CallAll("entry", {a}));
    HloComputation* b = module_.AddEmbeddedComputation(NegateComputation("b"));
    HloSchedule schedule(&module_);
    for (HloComputation* c : {a, b, entry}) {
      schedule.set_sequence(c, c->MakeInstructionPostOrder());
    }
    ASSERT_TRUE(module_.set_schedule(schedule).ok());
  }

  HloModule module_{"m", HloModuleConfig()};
};

TEST_F(HloModuleTest, OneComputation) {
  EXPECT_FALSE(module_.has_entry_computation());
  HloComputation* entry = module_.AddEntryComputation(NegateComputation("e"));
  EXPECT_EQ(module_.entry_computation(), entry);
  EXPECT_EQ(entry->parent(), &module_);
  EXPECT_EQ(entry->unique_id(), 0);
  EXPECT_EQ(module_.computation_count(), 1);
  EXPECT_EQ(module_.instruction_count(), 2);
  EXPECT_EQ(module_.result_shape(), F32Scalar());
  EXPECT_EQ(module_.GetComputationWithName("e"), entry);
  EXPECT_EQ(module_.GetComputationWithName("f"), nullptr);
  EXPECT_EQ(module_.entry_computation_layout().ToString(), "(f32[])->f32[]");
  EXPECT_EQ(module_.compute_computation_layout(),
            module_.entry_computation_layout());
}

TEST_F(HloModuleTest, EntryLayoutIsKeptOrTaken) {
  const Shape column_major =
      ShapeUtil::MakeShapeWithDenseLayout(F32, {2, 3}, {0, 1});
  auto identity = [&] {
    HloComputation::Builder builder("e");
    builder.AddInstruction(
        HloInstruction::CreateParameter(0, column_major, "p"));
    return builder.Build();
  };
  HloModule defaults("m", HloModuleConfig());
  defaults.AddEntryComputation(identity());
  EXPECT_EQ(defaults.entry_computation_layout().ToString(),
            "(f32[2,3]{1,0})->f32[2,3]{1,0}");
  HloModule taken("m", HloModuleConfig());
  taken.AddEntryComputationWithLayouts(identity());
  EXPECT_EQ(taken.entry_computation_layout().ToString(),
            "(f32[2,3]{0,1})->f32[2,3]{0,1}");
  HloModule kept("m", HloModuleConfig(taken.entry_computation_layout()));
  kept.AddEntryComputation(identity());
  EXPECT_EQ(kept.entry_computation_layout(), taken.entry_computation_layout());
}

// --- Orders
// ------------------------------------------------------------------------

TEST_F(HloModuleTest, PostOrderOfADiamond) {
  // entry calls c, b, a in this order; b and c call a.
  HloComputation* a = module_.AddEmbeddedComputation(NegateComputation("a"));
  HloComputation* b = module_.AddEmbeddedComputation(CallAll("b", {a}));
  HloComputation* c = module_.AddEmbeddedComputation(CallAll("c", {a}));
  module_.AddEntryComputation(CallAll("entry", {c, b, a}));
  module_.AddEmbeddedComputation(NegateComputation("unused"));
  EXPECT_THAT(Names(module_.MakeComputationPostOrder()),
              ElementsAre("unused", "a", "b", "c", "entry"));
  EXPECT_THAT(Names(module_.MakeComputationPostOrder(/*dfs_postorder=*/true)),
              ElementsAre("unused", "a", "c", "b", "entry"));
  EXPECT_THAT(Names(module_.MakeComputationPostOrder({}, {a, c})),
              ElementsAre("a", "c"));
  EXPECT_THAT(NamesOf(module_.computations()),
              ElementsAre("a", "b", "c", "entry", "unused"));
}

// Between a change and the update of the schedule, as many instructions may be
// new as are gone.
TEST_F(HloModuleTest, PostOrderWhereTheScheduleIsStale) {
  ScheduleCall();
  HloComputation* entry = module_.entry_computation();
  HloComputation* b = module_.GetComputationWithName("b");
  HloInstruction* call = entry->root_instruction();
  ASSERT_TRUE(entry
                  ->ReplaceWithNewInstruction(
                      call, HloInstruction::CreateCall(
                                F32Scalar(), {call->mutable_operand(0)}, b))
                  .ok());
  EXPECT_THAT(Names(module_.MakeComputationPostOrder(/*dfs_postorder=*/true)),
              ElementsAre("a", "b", "entry"));
}

TEST_F(HloModuleTest, PostOrderWhereTheScheduleLacksInstructions) {
  ScheduleCall();
  HloComputation* entry = module_.entry_computation();
  HloComputation* b = module_.GetComputationWithName("b");
  entry->set_root_instruction(entry->AddInstruction(
      HloInstruction::CreateCall(F32Scalar(), {entry->root_instruction()}, b)));
  EXPECT_THAT(Names(module_.MakeComputationPostOrder(/*dfs_postorder=*/true)),
              ElementsAre("a", "b", "entry"));
}

TEST_F(HloModuleTest, PostOrderOfADeepCallChain) {
  HloComputation* callee =
      module_.AddEmbeddedComputation(NegateComputation("f"));
  for (int i = 0; i < 20000; ++i) {
    callee = module_.AddEmbeddedComputation(CallAll("f", {callee}));
  }
  HloComputation* entry =
      module_.AddEntryComputation(CallAll("entry", {callee}));
  for (bool dfs : {false, true}) {
    std::vector<HloComputation*> order = module_.MakeComputationPostOrder(dfs);
    ASSERT_EQ(order.size(), 20002);
    EXPECT_EQ(order.front()->name(), "f");
    EXPECT_EQ(order.back(), entry);
  }
  EXPECT_FALSE(entry->HasSideEffect());
  std::unique_ptr<HloModule> clone = module_.Clone();
  EXPECT_EQ(*clone->entry_computation(), *entry);
}

TEST_F(HloModuleTest, ExecutionThreads) {
  HloComputation* a = module_.AddEmbeddedComputation(NegateComputation("a"));
  a->SetExecutionThread("parallel");
  module_.AddEntryComputation(CallAll("entry", {a}));
  EXPECT_THAT(NamesOf(module_.computations({"parallel"})), ElementsAre("a"));
  EXPECT_THAT(NamesOf(module_.computations({"main"})), ElementsAre("entry"));
  EXPECT_THAT(NamesOf(module_.computations({})), ElementsAre("a", "entry"));
  EXPECT_THAT(Names(module_.MakeNonfusionComputations({"parallel"})),
              ElementsAre("a"));
  EXPECT_THAT(Names(module_.MakeNonfusionComputations()),
              ElementsAre("a", "entry"));
  EXPECT_THAT(Names(module_.MakeComputationSorted({"main"})),
              ElementsAre("entry"));
}

TEST_F(HloModuleTest, SortedOrderDoesNotDependOnNamesOrStorage) {
  auto sorted_sizes = [](bool swap) {
    HloModule module("m", HloModuleConfig());
    HloComputation* small;
    HloComputation* large;
    if (swap) {
      large = module.AddEmbeddedComputation(CallAll("x", {}));
      small = module.AddEmbeddedComputation(NegateComputation("y"));
    } else {
      small = module.AddEmbeddedComputation(NegateComputation("a"));
      large = module.AddEmbeddedComputation(CallAll("b", {}));
    }
    module.AddEntryComputation(CallAll("entry", {small, large, small, large}));
    std::vector<int64_t> sizes;
    for (HloComputation* c : module.MakeComputationSorted()) {
      sizes.push_back(c->instruction_count());
    }
    return sizes;
  };
  EXPECT_EQ(sorted_sizes(false), sorted_sizes(true));
  EXPECT_THAT(sorted_sizes(true), ElementsAre(1, 2, 5));
}

TEST_F(HloModuleTest, ReorderComputations) {
  HloComputation* entry = module_.AddEntryComputation(CallAll("entry", {}));
  HloComputation* a = module_.AddEmbeddedComputation(NegateComputation("a"));
  entry->set_root_instruction(entry->AddInstruction(HloInstruction::CreateCall(
      F32Scalar(), {entry->parameter_instruction(0)}, a)));
  ASSERT_TRUE(module_.ReorderComputationsToPostOrder().ok());
  EXPECT_THAT(NamesOf(module_.computations()), ElementsAre("a", "entry"));
  ASSERT_TRUE(module_.RemoveEmbeddedComputation(a).ok());
}

TEST_F(HloModuleTest, RecursionIsAnErrorAndNoHang) {
  HloComputation* a = module_.AddEmbeddedComputation(CallAll("a", {}));
  HloComputation* b = module_.AddEmbeddedComputation(CallAll("b", {a}));
  a->set_root_instruction(a->AddInstruction(HloInstruction::CreateCall(
      F32Scalar(), {a->parameter_instruction(0)}, b)));
  module_.AddEntryComputation(CallAll("entry", {}));
  EXPECT_EQ(module_.MakeComputationPostOrder().size(), 3);
  EXPECT_FALSE(module_.ReorderComputationsToPostOrder().ok());
  // The cycle goes away in memory, too.
  EXPECT_TRUE(module_.RemoveUnusedComputations().ok());
  module_.Cleanup();
  EXPECT_EQ(module_.computation_count(), 1);
}

// --- Removal and replacement
// ----------------------------------------------------------

TEST_F(HloModuleTest, RemovedComputationsStayUntilCleanup) {
  HloComputation* a = module_.AddEmbeddedComputation(NegateComputation("a"));
  HloComputation* b = module_.AddEmbeddedComputation(CallAll("b", {a}));
  module_.AddEntryComputation(NegateComputation("entry"));
  ASSERT_TRUE(module_.RemoveEmbeddedComputation(b).ok());
  EXPECT_EQ(module_.RemoveEmbeddedComputation(b).code(),
            absl::StatusCode::kNotFound);
  EXPECT_TRUE(a->IsDeadComputation());
  EXPECT_EQ(b->name(), "b");
  EXPECT_EQ(module_.computation_count(), 2);
  EXPECT_THAT(NamesOf(module_.computations()), ElementsAre("a", "entry"));
  module_.CleanupComputations();
  EXPECT_THAT(NamesOf(module_.computations()), ElementsAre("a", "entry"));
  EXPECT_EQ(
      module_.RemoveEmbeddedComputation(module_.entry_computation()).code(),
      absl::StatusCode::kFailedPrecondition);
}

TEST_F(HloModuleTest, RemoveUnusedComputations) {
  HloComputation* a = module_.AddEmbeddedComputation(NegateComputation("a"));
  HloComputation* b = module_.AddEmbeddedComputation(CallAll("b", {a}));
  module_.AddEmbeddedComputation(CallAll("unused", {a, b}));
  module_.AddEntryComputation(CallAll("entry", {a}));
  ASSERT_TRUE(module_.RemoveUnusedComputations().ok());
  EXPECT_THAT(NamesOf(module_.computations()), ElementsAre("a", "entry"));
}

TEST_F(HloModuleTest, ReplaceComputations) {
  HloComputation* a = module_.AddEmbeddedComputation(NegateComputation("a"));
  HloComputation* b = module_.AddEmbeddedComputation(NegateComputation("b"));
  HloComputation* entry =
      module_.AddEntryComputation(CallAll("entry", {a, b, a}));
  module_.ReplaceComputations({{a, b}});
  EXPECT_EQ(b->caller_instructions().size(), 3);
  EXPECT_THAT(NamesOf(module_.computations()), ElementsAre("b", "entry"));
  EXPECT_EQ(module_.entry_computation(), entry);
}

TEST_F(HloModuleTest, MarkFusionDuplications) {
  HloComputation::Builder builder("entry");
  HloInstruction* p = builder.AddInstruction(Parameter(0));
  HloInstruction* x = builder.AddInstruction(
      HloInstruction::CreateUnary(F32Scalar(), HloOpcode::kExp, p));
  HloInstruction* y = builder.AddInstruction(
      HloInstruction::CreateUnary(F32Scalar(), HloOpcode::kExp, x));
  HloComputation* entry = module_.AddEntryComputation(builder.Build());
  HloInstruction* fusion1 =
      entry->CreateFusionInstruction({x}, HloInstruction::FusionKind::kLoop);
  HloInstruction* fusion2 =
      entry->CreateFusionInstruction({y}, HloInstruction::FusionKind::kLoop);
  const absl::flat_hash_map<HloComputation*, HloComputation*> replacements = {
      {fusion2->fused_instructions_computation(),
       fusion1->fused_instructions_computation()}};
  module_.MarkFusionDuplications(replacements);
  EXPECT_EQ(fusion2->metadata().deduplicated_name(), fusion1->name());
  EXPECT_EQ(fusion1->metadata().deduplicated_name(), fusion1->name());
  module_.ReplaceComputations(replacements);
  EXPECT_EQ(fusion1->fused_instructions_computation(),
            fusion2->fused_instructions_computation());
  EXPECT_EQ(module_.computation_count(), 2);
}

TEST_F(HloModuleTest, ReplaceEntryComputation) {
  HloComputation* a = module_.AddEmbeddedComputation(NegateComputation("a"));
  module_.AddEntryComputation(CallAll("entry", {a}));
  ASSERT_TRUE(module_.buffer_donor_config().AddBufferDonor(0, {}).ok());
  module_.ReplaceEntryComputation(a);
  EXPECT_TRUE(a->IsEntryComputation());
  EXPECT_TRUE(module_.buffer_donor_config().buffer_donor().empty());
}

TEST_F(HloModuleTest, MoveComputations) {
  module_.AddEntryComputation(NegateComputation("e"));
  HloModule other("other", HloModuleConfig());
  HloComputation* moved = other.AddEntryComputation(NegateComputation("e"));
  module_.MoveComputationsFrom(&other, /*make_names_unique=*/true);
  EXPECT_EQ(other.computation_count(), 0);
  EXPECT_FALSE(other.has_entry_computation());
  EXPECT_EQ(moved->parent(), &module_);
  EXPECT_EQ(module_.entry_computation(), moved);
  EXPECT_EQ(moved->name(), "e.1");
  EXPECT_TRUE(
      module_.CheckUniqueNamesAndIdsForComputationsAndInstructions().ok());
}

TEST_F(HloModuleTest, OutlineExpression) {
  HloComputation::Builder builder("entry");
  HloInstruction* p = builder.AddInstruction(Parameter(0));
  HloInstruction* x = builder.AddInstruction(
      HloInstruction::CreateUnary(F32Scalar(), HloOpcode::kExp, p));
  HloInstruction* y = builder.AddInstruction(
      HloInstruction::CreateBinary(F32Scalar(), HloOpcode::kAdd, x, p));
  builder.AddInstruction(
      HloInstruction::CreateUnary(F32Scalar(), HloOpcode::kNegate, y));
  HloComputation* entry = module_.AddEntryComputation(builder.Build());
  HloInstruction* call =
      module_.OutlineExpressionFromComputation({x, y}, "outlined", entry);
  EXPECT_EQ(entry->root_instruction()->operand(0), call);
  EXPECT_EQ(call->to_apply()->name(), "outlined");
  EXPECT_THAT(call->operands(), ElementsAre(p));
  EXPECT_EQ(entry->instruction_count(), 3);
  EXPECT_EQ(call->to_apply()->instruction_count(), 3);
}

// --- Names and ids
// ---------------------------------------------------------------------

TEST_F(HloModuleTest, AddComputationKeepsNames) {
  HloComputation* a = module_.AddComputation(NegateComputation("a"),
                                             /*is_entry=*/false);
  HloComputation* e = module_.AddComputation(NegateComputation("e"),
                                             /*is_entry=*/true);
  EXPECT_EQ(a->root_instruction()->name(), "negate");
  EXPECT_EQ(e->root_instruction()->name(), "negate");
  EXPECT_FALSE(
      module_.CheckUniqueNamesAndIdsForComputationsAndInstructions().ok());
  // New names stay clear of both.
  HloInstruction* added = e->AddInstruction(HloInstruction::CreateUnary(
      F32Scalar(), HloOpcode::kNegate, e->parameter_instruction(0)));
  EXPECT_EQ(added->name(), "negate.1");
  HloComputation* unified = module_.AddComputationAndUnifyNamesAndIds(
      NegateComputation("a"), /*is_entry=*/false);
  EXPECT_EQ(unified->name(), "a.1");
  EXPECT_EQ(unified->root_instruction()->name(), "negate.2");
}

TEST_F(HloModuleTest, IdsCarryTheComputation) {
  HloComputation* a = module_.AddEmbeddedComputation(NegateComputation("a"));
  HloComputation* b = module_.AddEntryComputation(NegateComputation("b"));
  EXPECT_EQ(a->unique_id(), 0);
  EXPECT_EQ(b->unique_id(), 1);
  EXPECT_EQ(b->root_instruction()->unique_id(),
            HloInstruction::CalculateUniqueId(1, 1));
  EXPECT_EQ(
      HloInstruction::CalculateParentId(b->root_instruction()->unique_id()), 1);
  EXPECT_EQ(module_.next_unique_computation_id(), 2);
  auto with_id = NegateComputation("c");
  with_id->SetUniqueId(7);
  EXPECT_EQ(module_.AddEmbeddedComputation(std::move(with_id))->unique_id(), 7);
  auto taken = NegateComputation("d");
  taken->SetUniqueId(7);
  EXPECT_EQ(module_.AddEmbeddedComputation(std::move(taken))->unique_id(), 8);
}

TEST_F(HloModuleTest, ModuleIdsDiffer) {
  HloModule other("m", HloModuleConfig());
  EXPECT_NE(module_.unique_id(), other.unique_id());
  EXPECT_EQ(other.metadata()->proto().canonical_module_id(), other.unique_id());
  EXPECT_EQ(module_.RandomNew64(), other.RandomNew64());
}

// --- Config
// ----------------------------------------------------------------------------

TEST_F(HloModuleTest, ConfigIsSharedUntilChanged) {
  module_.AddEntryComputation(NegateComputation("e"));
  std::unique_ptr<HloModule> clone = module_.Clone();
  EXPECT_EQ(module_.shared_config().get(), clone->shared_config().get());
  clone->mutable_config().set_num_partitions(8);
  EXPECT_EQ(clone->config().num_partitions(), 8);
  EXPECT_EQ(module_.config().num_partitions(), 1);
  HloModuleConfig* first = &clone->mutable_config();
  EXPECT_EQ(first, &clone->mutable_config());
}

// --- Cloning
// -----------------------------------------------------------------------------

TEST_F(HloModuleTest, CloneHasEverything) {
  HloComputation* a = module_.AddEmbeddedComputation(NegateComputation("a"));
  HloComputation* entry = module_.AddEntryComputation(CallAll("entry", {a, a}));
  HloSchedule schedule(&module_);
  for (HloComputation* c : {a, entry}) {
    schedule.set_sequence(c, c->MakeInstructionPostOrder());
  }
  ASSERT_TRUE(module_.set_schedule(schedule).ok());
  ASSERT_TRUE(module_.input_output_alias_config().SetUpAlias({}, 0, {}).ok());
  module_.add_frontend_attribute("k", "v");
  module_.set_is_dynamic(true);
  module_.AddCrossProgramPrefetch(0, {});
  module_.set_spmd_output_sharding(HloSharding::Replicate());
  HloStackFrame frame;
  frame.file_name = "f.py";
  frame.line = 1;
  module_.mutable_stack_frames().AddStackFrame(frame);
  module_.mutable_original_value_recovery_table().emplace(
      OriginalArray{"x", {}}, {OriginalArray{"y", {}}, nullptr});

  auto [clone, context] = module_.CloneWithContext("copy");
  EXPECT_EQ(clone->name(), "m-copy");
  EXPECT_THAT(NamesOf(clone->computations()),
              ElementsAre("a.copy", "entry.copy"));
  EXPECT_EQ(*clone->entry_computation(), *entry);
  EXPECT_EQ(context->GetComputation(entry), clone->entry_computation());
  EXPECT_EQ(clone->entry_computation()->unique_id(), entry->unique_id());
  EXPECT_EQ(absl::HashOf(*clone), absl::HashOf(module_));
  EXPECT_EQ(context->GetComputation(a)->caller_instructions().size(), 2);
  ASSERT_TRUE(clone->has_schedule());
  EXPECT_TRUE(clone->schedule().Verify().ok());
  EXPECT_EQ(clone->schedule().module(), clone.get());
  EXPECT_EQ(clone->schedule().sequence(clone->entry_computation()).ids(),
            module_.schedule().sequence(entry).ids());
  EXPECT_TRUE(clone->input_output_alias_config().OutputHasAlias({}));
  EXPECT_EQ(clone->frontend_attributes().map().at("k"), "v");
  EXPECT_TRUE(clone->is_dynamic());
  EXPECT_EQ(clone->CrossProgramPrefetches().size(), 1);
  EXPECT_TRUE(clone->has_spmd_output_sharding());
  EXPECT_EQ(clone->get_stack_frame(StackFrameId{1}).file_name, "f.py");
  EXPECT_EQ(clone->original_value_recovery_table().size(), 1);
  EXPECT_TRUE(
      clone->CheckUniqueNamesAndIdsForComputationsAndInstructions().ok());
}

TEST_F(HloModuleTest, CloneKeepsLocalIdsWithTheirHoles) {
  HloComputation::Builder builder("entry");
  HloInstruction* p = builder.AddInstruction(Parameter(0));
  HloInstruction* dead = builder.AddInstruction(
      HloInstruction::CreateUnary(F32Scalar(), HloOpcode::kExp, p));
  HloInstruction* root = builder.AddInstruction(
      HloInstruction::CreateUnary(F32Scalar(), HloOpcode::kNegate, p));
  HloComputation* entry = module_.AddEntryComputation(builder.Build());
  ASSERT_TRUE(entry->RemoveInstruction(dead).ok());
  std::unique_ptr<HloModule> clone = module_.Clone("");
  EXPECT_EQ(clone->name(), "m");
  HloInstruction* cloned_root = clone->entry_computation()->root_instruction();
  EXPECT_EQ(cloned_root->local_id(), root->local_id());
  EXPECT_EQ(cloned_root->name(), root->name());
  EXPECT_EQ(clone->ToString(), module_.ToString());
}

TEST_F(HloModuleTest, DeepCloneComputation) {
  HloComputation* a = module_.AddEmbeddedComputation(NegateComputation("a"));
  HloComputation* entry = module_.AddEntryComputation(CallAll("entry", {a, a}));
  HloModule other("other", HloModuleConfig());
  HloComputation* clone = other.DeepCloneComputation(entry);
  EXPECT_EQ(clone->name(), "entry");
  EXPECT_EQ(other.computation_count(), 2);
  EXPECT_EQ(*clone, *entry);
  for (HloInstruction* instruction : clone->instructions()) {
    for (HloComputation* callee : instruction->called_computations()) {
      EXPECT_EQ(callee->parent(), &other);
    }
  }
}

// --- Hashes
// ------------------------------------------------------------------------------

TEST_F(HloModuleTest, HashTellsModulesApart) {
  module_.AddEntryComputation(NegateComputation("e"));
  HloModule same("other_name", HloModuleConfig());
  same.AddEntryComputation(NegateComputation("f"));
  EXPECT_EQ(absl::HashOf(module_), absl::HashOf(same));
  HloComputation* entry = same.entry_computation();
  entry->AddInstruction(HloInstruction::CreateUnary(
      F32Scalar(), HloOpcode::kExp, entry->parameter_instruction(0)));
  EXPECT_NE(absl::HashOf(module_), absl::HashOf(same));
}

TEST_F(HloModuleTest, FingerprintIsThatOfTheText) {
  module_.AddEntryComputation(NegateComputation("e"));
  HloModule same("m", HloModuleConfig());
  same.AddEntryComputation(NegateComputation("e"));
  EXPECT_EQ(module_.GetFingerprint128(), same.GetFingerprint128());
  EXPECT_EQ(module_.GetFingerprint128().size(), 32);
  HloModule different("m", HloModuleConfig());
  different.AddEntryComputation(CallAll("e", {}));
  EXPECT_NE(module_.GetFingerprint128(), different.GetFingerprint128());
}

// --- The rest
// -----------------------------------------------------------------------------

TEST_F(HloModuleTest, CrossProgramPrefetchOffsets) {
  module_.AddCrossProgramPrefetch(3, {0});
  EXPECT_FALSE(module_.SetCrossProgramPrefetchOffset(1, 64).ok());
  EXPECT_TRUE(module_.SetCrossProgramPrefetchOffset(0, 64).ok());
  EXPECT_FALSE(module_.SetCrossProgramPrefetchOffset(0, 128).ok());
  EXPECT_EQ(*module_.CrossProgramPrefetches()[0].alt_memory_offset, 64);
}

TEST_F(HloModuleTest, CacheEntries) {
  class Entry : public HloModule::CacheEntry {
   public:
    explicit Entry(int value) : value(value) {}
    tsl::Fprint128 GetCacheKey() const override { return {1, 2}; }
    int value;
  };
  EXPECT_EQ(module_.GetCacheEntry<Entry>({1, 2}), nullptr);
  EXPECT_TRUE(module_.SetCacheEntry(std::make_shared<Entry>(5)));
  EXPECT_FALSE(module_.SetCacheEntry(std::make_shared<Entry>(6)));
  EXPECT_EQ(module_.GetCacheEntry<Entry>({1, 2})->value, 5);
  EXPECT_TRUE(module_.SetCacheEntry(std::make_shared<Entry>(7), true));
  EXPECT_EQ(module_.GetCacheEntry<Entry>({1, 2})->value, 7);
}

TEST_F(HloModuleTest, StackFramesMoveBetweenTables) {
  HloModule source("source", HloModuleConfig());
  HloStackFrame outer;
  outer.file_name = "a.py";
  outer.line = 1;
  StackFrames& frames = source.mutable_stack_frames();
  HloStackFrame inner = outer;
  inner.line = 2;
  inner.parent_frame_id = frames.AddStackFrame(outer);
  const StackFrameId inner_id = frames.AddStackFrame(inner);

  HloStackFrame unrelated;
  unrelated.file_name = "b.py";
  unrelated.line = 9;
  module_.mutable_stack_frames().AddStackFrame(unrelated);
  HloComputation* entry = module_.AddEntryComputation(NegateComputation("e"));
  OpMetadata metadata;
  metadata.set_stack_frame_id(inner_id.value);
  entry->root_instruction()->set_metadata(metadata);
  metadata.set_stack_frame_id(99);
  entry->parameter_instruction(0)->set_metadata(metadata);
  module_.CanonicalizeStackFrameIds(source.stack_frames().proto());
  EXPECT_EQ(entry->root_instruction()->metadata().stack_frame_id(), 3);
  EXPECT_EQ(module_.get_stack_frame(StackFrameId{3}).line, 2);
  EXPECT_EQ(module_.get_stack_frame(StackFrameId{3}).parent_frame_id.value, 2);
  EXPECT_EQ(entry->parameter_instruction(0)->metadata().stack_frame_id(), 0);
}

TEST_F(HloModuleTest, Metadata) {
  module_.metadata()->RecordPassStart();
  ASSERT_TRUE(module_.metadata()->RecordPassEnd().ok());
  HloModule other("other", HloModuleConfig());
  module_.MoveMetadataToModule(&other);
  EXPECT_EQ(other.metadata()->proto().pass_metadata_size(), 1);
  EXPECT_EQ(module_.metadata()->proto().pass_metadata_size(), 0);
  EXPECT_EQ(module_.metadata()->proto().canonical_module_id(),
            module_.unique_id());
}

}  // namespace
}  // namespace xla
