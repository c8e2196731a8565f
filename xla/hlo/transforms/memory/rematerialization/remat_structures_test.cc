#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/transforms/memory/rematerialization/remat_candidates.h"
#include "xla/hlo/transforms/memory/rematerialization/remat_computation.h"
#include "xla/hlo/transforms/memory/rematerialization/remat_cost_index.h"
#include "xla/hlo/transforms/memory/rematerialization/remat_instruction_list.h"
#include "xla/hlo/transforms/memory/rematerialization/remat_peak_index.h"
#include "xla/hlo/transforms/memory/rematerialization/remat_rewriter.h"

namespace xla {
namespace {

std::vector<RematItemId> Items(const RematInstructionList& list) {
  std::vector<RematItemId> items;
  for (RematItemId item = list.first(); item != kNoRematItem;
       item = list.next(item)) {
    items.push_back(item);
  }
  return items;
}

TEST(RematInstructionListTest, Order) {
  RematInstructionList list(3);
  list.InsertBefore(3, 0);
  list.InsertAfter(4, 2);
  list.InsertBefore(5, 1);
  EXPECT_EQ(Items(list), (std::vector<RematItemId>{3, 0, 5, 1, 2, 4}));
  EXPECT_TRUE(list.Precedes(3, 0));
  EXPECT_TRUE(list.Precedes(5, 1));
  EXPECT_FALSE(list.Precedes(4, 2));
  list.Remove(5);
  EXPECT_FALSE(list.contains(5));
  EXPECT_EQ(list.prev(1), 0);
  EXPECT_EQ(list.size(), 5);
}

// Labels are made anew where there is no room.
TEST(RematInstructionListTest, ManyAtOnePlace) {
  RematInstructionList list(2);
  for (RematItemId item = 2; item < 5000; ++item) {
    list.InsertBefore(item, 1);
    ASSERT_TRUE(list.Precedes(list.prev(item), item));
    ASSERT_TRUE(list.Precedes(item, 1));
  }
  for (RematItemId item = 5000; item < 6000; ++item) {
    list.InsertAfter(item, list.last());
    list.InsertBefore(item + 1000, list.first());
  }
  RematItemId last = list.first();
  for (RematItemId item = list.next(last); item != kNoRematItem;
       item = list.next(item)) {
    ASSERT_TRUE(list.Precedes(last, item));
    last = item;
  }
}

TEST(RematCostIndexTest, FirstOfTheLeast) {
  RematCostIndex index;
  EXPECT_EQ(index.BestCost(), RematCostIndex::kAbsent);
  index.Set(3, 7);
  index.Set(500, 2);
  index.Set(9, 2);
  EXPECT_EQ(index.Best(), 9);
  index.Set(9, RematCostIndex::kAbsent);
  EXPECT_EQ(index.Best(), 500);
  index.Set(500, 8);
  EXPECT_EQ(index.Best(), 3);
  EXPECT_EQ(index.Get(500), 8);
  EXPECT_EQ(index.Get(100000), RematCostIndex::kAbsent);
}

class RematCandidatesTest : public ::testing::Test {
 protected:
  void Make(const char* text) {
    module_ = *ParseAndReturnUnverifiedModule(text);
    policy_.recompute = true;
    state_ = *RematComputation::Create(
        module_->entry_computation(),
        module_->schedule().sequence(module_->entry_computation()), &policy_);
  }
  void WalkTo(RematItemId last) {
    for (RematItemId item = 0; item < last; ++item) {
      state_->tracker().Begin(item);
      state_->tracker().End(item);
    }
    state_->tracker().Begin(last);
  }

  std::unique_ptr<HloModule> module_;
  RematPolicy policy_;
  std::unique_ptr<RematComputation> state_;
};

constexpr char kChain[] = R"(
HloModule m, is_scheduled=true
ENTRY main {
  p = f32[] parameter(0)
  a = f32[256]{0} broadcast(p), dimensions={}
  b = f32[256]{0} negate(a)
  c = f32[512]{0} concatenate(b, b), dimensions={0}
  d = f32[1024]{0} concatenate(c, c), dimensions={0}
  e = f32[256]{0} slice(d), slice={[0:256]}
  f = f32[768]{0} concatenate(e, c), dimensions={0}
  g = f32[1]{0} slice(f), slice={[0:1]}
  h = f32[257]{0} concatenate(g, a), dimensions={0}
  ROOT i = f32[1]{0} slice(h), slice={[0:1]}
}
)";

TEST_F(RematCandidatesTest, SinglesAndBlocks) {
  Make(kChain);
  EXPECT_TRUE(state_->rematerializable(1));
  EXPECT_FALSE(state_->rematerializable(0));
  WalkTo(5);  // e reads d; c waits for f, a for h; b is dead
  EXPECT_EQ(state_->tracker().memory_usage(), 1024 + 2048 + 4096 + 1024);
  RematCandidates candidates(state_.get(), 1 << 20);
  // c frees 2048, but b, which it reads, would live on.
  auto best = candidates.Best(1, 1);
  ASSERT_TRUE(best.has_value());
  EXPECT_EQ(best->first, 1);
  EXPECT_EQ(best->cost, (1 << 20) / 1024);
  // b and c together free c.
  best = candidates.Best(2, 2);
  ASSERT_TRUE(best.has_value());
  EXPECT_EQ(best->first, 2);
  EXPECT_EQ(best->cost, (1 << 20) / 2048);
  // All three: more.
  best = candidates.Best(3, 4);
  ASSERT_TRUE(best.has_value());
  EXPECT_EQ(best->first, 1);
  EXPECT_EQ(best->size, 3);
  EXPECT_EQ(best->cost, (1 << 20) / 3072);
  auto change = Recompute(*state_, 2, 2);
  ASSERT_TRUE(change.ok()) << change.status();
  EXPECT_EQ(change->rematerialized, 2);
  EXPECT_EQ(state_->tracker().memory_usage(), 1024 + 4096 + 1024);
  best = candidates.Best(1, 1);
  ASSERT_TRUE(best.has_value());
  EXPECT_EQ(best->first, 1);
  state_->Denylist(1);
  candidates.Invalidate(1);
  EXPECT_FALSE(candidates.Best(1, 1).has_value());
}

// What nobody has read yet moves for nothing.
TEST_F(RematCandidatesTest, Moves) {
  Make(R"(
HloModule m, is_scheduled=true
ENTRY main {
  p = f32[] parameter(0)
  a = f32[256]{0} broadcast(p), dimensions={}
  b = f32[2560]{0} broadcast(p), dimensions={}
  c = f32[256]{0} slice(b), slice={[0:256]}
  d = f32[256]{0} add(a, c)
  e = f32[2560]{0} negate(b)
  f = f32[256]{0} slice(e), slice={[0:256]}
  ROOT g = f32[256]{0} add(d, f)
}
)");
  WalkTo(3);
  RematCandidates candidates(state_.get(), 1 << 20);
  auto best = candidates.Best(1, 1);
  ASSERT_TRUE(best.has_value());
  EXPECT_EQ(best->first, 1);
  EXPECT_EQ(best->cost, 0);
  auto change = Recompute(*state_, 1, 1);
  ASSERT_TRUE(change.ok()) << change.status();
  EXPECT_EQ(change->net_added, 0);
  EXPECT_TRUE(state_->instruction(1)->IsDead());
}

// The tracker goes forth and back, and the peak is known wherever it is.
TEST_F(RematCandidatesTest, PeakWhileRewriting) {
  Make(kChain);
  const auto nothing = [](const HloInstruction&) { return 0; };
  RematPeakIndex index(state_.get(), nothing);
  RematMemoryTracker& tracker = state_->tracker();
  int64_t bytes = 0;
  EXPECT_EQ(index.Highest(&bytes), 5);
  EXPECT_EQ(bytes, 1024 + 2048 + 4096 + 1024);
  tracker.MoveTo(5);
  EXPECT_EQ(tracker.memory_usage(), bytes);
  ASSERT_TRUE(Recompute(*state_, 1, 1).ok());
  EXPECT_EQ(index.Highest(&bytes), 5);
  EXPECT_EQ(bytes, 2048 + 4096 + 1024);
  EXPECT_EQ(tracker.memory_usage(), bytes);
  const int64_t here[] = {0, 1024, 2048, 3072, 6144, 7168, 6144, 3072 + 4};
  for (const RematItemId item : {2, 7, 3, 3, 1, 6, 5, 4, 0, 7}) {
    tracker.MoveTo(item);
    EXPECT_EQ(tracker.memory_usage(), here[item]) << item;
  }
  // The root stays, though nobody reads it.
  const RematItemId last = state_->list().last();
  tracker.MoveTo(last);
  state_->MayBeUnread(state_->instruction(last));
  tracker.MoveTo(state_->list().first());
  tracker.End(state_->list().first());
  state_->DropUnread();
  EXPECT_TRUE(state_->list().contains(last));
}

}  // namespace
}  // namespace xla
