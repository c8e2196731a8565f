#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/transforms/memory/remat/greedy/remat_block_prices.h"
#include "xla/hlo/transforms/memory/remat/greedy/remat_candidates.h"
#include "xla/hlo/transforms/memory/remat/greedy/remat_computation.h"
#include "xla/hlo/transforms/memory/remat/greedy/remat_cost_index.h"
#include "xla/hlo/transforms/memory/remat/greedy/remat_instruction_list.h"
#include "xla/hlo/transforms/memory/remat/greedy/remat_memory_tracker.h"
#include "xla/hlo/transforms/memory/remat/greedy/remat_peak_candidates.h"
#include "xla/hlo/transforms/memory/remat/greedy/remat_peak_index.h"
#include "xla/hlo/transforms/memory/remat/greedy/remat_rewriter.h"

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

// Moving an instruction that has not been read yet is free.
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

// The tracker jumps forth and back, and the peak is known wherever it is.
TEST_F(RematCandidatesTest, PeakWhileRewriting) {
  Make(kChain);
  const auto nothing = [](const HloInstruction&) { return 0; };
  RematPeakIndex index(state_.get(), nothing);
  RematMemoryTracker& tracker = state_->tracker();
  int64_t bytes = 0;
  EXPECT_EQ(index.Highest(&bytes), 5);
  EXPECT_EQ(bytes, 1024 + 2048 + 4096 + 1024);
  tracker.JumpTo({5, /*in_progress=*/true}, bytes);
  EXPECT_EQ(tracker.CountLiveBytes(), bytes);
  ASSERT_TRUE(Recompute(*state_, 1, 1).ok());
  EXPECT_EQ(index.Highest(&bytes), 5);
  EXPECT_EQ(bytes, 2048 + 4096 + 1024);
  EXPECT_EQ(tracker.memory_usage(), bytes);
  const int64_t here[] = {0, 1024, 2048, 3072, 6144, 7168, 6144, 3072 + 4};
  for (const RematItemId item : {2, 7, 3, 3, 1, 6, 5, 4, 0, 7}) {
    tracker.JumpTo({item, /*in_progress=*/true}, 0);
    EXPECT_EQ(tracker.CountLiveBytes(), here[item]) << item;
  }
  // The root stays, though nothing reads it.
  const RematItemId last = state_->list().last();
  state_->MayBeUnread(state_->instruction(last));
  tracker.JumpTo({state_->list().first(), /*in_progress=*/false}, 0);
  state_->DropUnread();
  EXPECT_TRUE(state_->list().contains(last));
}

// What comes into the place of the last one that has ended has not.
TEST_F(RematCandidatesTest, LastEndedIsTakenOut) {
  Make(kChain);
  RematMemoryTracker& tracker = state_->tracker();
  tracker.JumpTo({9, /*in_progress=*/false}, 0);
  tracker.TakeOut(9);
  EXPECT_TRUE(tracker.placed(8));
  EXPECT_FALSE(tracker.placed(9));
  state_->list().InsertAfter(9, 8);
  EXPECT_FALSE(tracker.placed(9));
}

// Values that are read here and there, many of them for the last time in a row,
// and what comes behind them.
std::string ManyReaders() {
  std::string text =
      "HloModule m, is_scheduled=true\nENTRY main {\n"
      "  p = f32[] parameter(0)\n";
  const auto add = [&](absl::string_view name, int i, absl::string_view rest) {
    absl::StrAppend(&text, "  ", name, "_", i, " = ", rest);
  };
  constexpr int kValues = 70;
  for (int i = 0; i < kValues; ++i) {
    add("v", i,
        absl::StrCat("f32[", 64 + 7 * i % 50, "]{0} broadcast(p), ",
                     "dimensions={}\n"));
    add("n", i, absl::StrCat("f32[1]{0} slice(v_", i, "), slice={[0:1]}\n"));
  }
  // Those of every second one are behind an alias that moves with them.
  for (int i = 0; i < kValues; i += 2) {
    add("c", i,
        absl::StrCat("f32[1,", 64 + 7 * i % 50, "]{1,0} bitcast(v_", i, ")\n"));
  }
  for (int i = 0; i < kValues; ++i) {
    if (i % 2 == 1) {
      add("l", i, absl::StrCat("f32[1]{0} slice(v_", i, "), slice={[1:2]}\n"));
      continue;
    }
    add("k", i,
        absl::StrCat("f32[1,1]{1,0} slice(c_", i, "), slice={[0:1], [1:2]}\n"));
    add("l", i, absl::StrCat("f32[1]{0} bitcast(k_", i, ")\n"));
  }
  for (int i = 0; i < kValues; ++i) {
    add("w", i,
        absl::StrCat("f32[", 900 + 11 * i, "]{0} broadcast(p), ",
                     "dimensions={}\n"));
    add("x", i, absl::StrCat("f32[1]{0} slice(w_", i, "), slice={[0:1]}\n"));
  }
  text += "  ROOT r = f32[";
  absl::StrAppend(&text, 3 * kValues, "]{0} concatenate(");
  for (const char* name : {"n", "l", "x"}) {
    for (int i = 0; i < kValues; ++i) {
      absl::StrAppend(&text, name, "_", i,
                      *name == 'x' && i + 1 == kValues ? "" : ", ");
    }
  }
  return text + "), dimensions={0}\n}\n";
}

// Heights and prices that are kept are those that a full count finds, at points
// in any order, however many clones come to one place.
TEST_F(RematCandidatesTest, AnyPoint) {
  Make(ManyReaders().c_str());
  policy_.never_clone_clones = true;
  constexpr int64_t kBasis = int64_t{1} << 30;
  RematPeakIndex index(state_.get(), [](const HloInstruction&) { return 0; });
  RematPeakCandidates candidates(state_.get(), kBasis);
  RematMemoryTracker& tracker = state_->tracker();
  int taken = 0;
  for (int round = 0; round < 110; ++round) {
    SCOPED_TRACE(round);
    int64_t highest = 0;
    RematItemId at = kNoRematItem;
    for (RematItemId item = state_->list().first(); item != kNoRematItem;
         item = state_->list().next(item)) {
      tracker.JumpTo({item, /*in_progress=*/true}, 0);
      const int64_t bytes = tracker.CountLiveBytes();
      if (bytes <= highest) continue;
      highest = bytes;
      at = item;
    }
    int64_t bytes = 0;
    ASSERT_EQ(index.Highest(&bytes), at);
    ASSERT_EQ(bytes, highest);
    // Here and there.
    const RematItemId item = round % 3 == 0 ? at : (round * 37) % 400 + 1;
    if (!state_->list().contains(item)) continue;
    tracker.JumpTo({item, /*in_progress=*/true}, 0);
    tracker.JumpTo(tracker.point(), tracker.CountLiveBytes());
    for (const int32_t size : {1, 4}) {
      RematBlockPrices prices(state_.get(), kBasis);
      std::optional<RematCandidate> best;
      for (RematItemId first = state_->list().first(); first != item;
           first = state_->list().next(first)) {
        double ready_seconds;
        const auto candidate = prices.BestAt(first, 1, size, &ready_seconds);
        if (candidate && (!best || candidate->cost < best->cost)) {
          best = candidate;
        }
      }
      const auto found = candidates.Best(1, size);
      ASSERT_EQ(found.has_value(), best.has_value());
      if (!found.has_value()) continue;
      ASSERT_EQ(found->first, best->first);
      ASSERT_EQ(found->size, best->size);
      ASSERT_EQ(found->cost, best->cost);
      if (size == 1 && round % 4 == 3) continue;
      ASSERT_TRUE(Recompute(*state_, found->first, found->size).ok());
      ASSERT_EQ(tracker.memory_usage(), tracker.CountLiveBytes());
      ++taken;
    }
  }
  EXPECT_GT(taken, 60);
}

}  // namespace
}  // namespace xla
