// Starts and dones of long chains after surgery, against a walk link by link.

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

// Long enough that the ends are remembered.
constexpr int kUpdates = 150;

// The state is the first operand of each that it passes through.
const HloInstruction* StartByWalk(const HloInstruction* link) {
  while (link->opcode() != HloOpcode::kAsyncStart) link = link->operand(0);
  return link;
}

// Each state has one user at most.
const HloInstruction* DoneByWalk(const HloInstruction* link) {
  while (link->opcode() != HloOpcode::kAsyncDone) {
    if (link->users().empty()) return nullptr;
    link = link->users()[0];
  }
  return link;
}

// How the state comes from one update to the next.
enum class Way { kDirect, kBarrier, kTuple };

// A module of chains.
class Chains {
 public:
  Chains() : module_("chains", HloModuleConfig()) {
    HloComputation::Builder builder("entry");
    x_ = builder.AddInstruction(HloInstruction::CreateParameter(0, f32_, "x"));
    entry_ = module_.AddEntryComputation(builder.Build());
  }

  HloComputation* entry() { return entry_; }

  HloInstruction* AddStart() {
    HloComputation::Builder builder("wrapped");
    HloInstruction* p =
        builder.AddInstruction(HloInstruction::CreateParameter(0, f32_, "p"));
    builder.AddInstruction(
        HloInstruction::CreateUnary(f32_, HloOpcode::kNegate, p));
    return entry_->AddInstruction(HloInstruction::CreateAsyncStart(
        state_, {x_}, module_.AddEmbeddedComputation(builder.Build())));
  }

  HloInstruction* AddStartWithoutOperands() {
    HloComputation::Builder builder("wrapped");
    builder.AddInstruction(HloInstruction::CreateIota(f32_, 0));
    return entry_->AddInstruction(HloInstruction::CreateAsyncStart(
        state_, {}, module_.AddEmbeddedComputation(builder.Build())));
  }

  HloInstruction* AddUpdates(HloInstruction* link, int count,
                             Way way = Way::kDirect) {
    for (int i = 0; i < count; ++i) {
      link = entry_->AddInstruction(
          HloInstruction::CreateAsyncUpdate(state_, Carried(link, way)));
    }
    return link;
  }

  // Removes a link that nothing uses and what carries a state to it; returns
  // the link before.
  HloInstruction* Remove(HloInstruction* link) {
    HloInstruction* last = link;
    do {
      HloInstruction* before = last->mutable_operand(0);
      EXPECT_TRUE(entry_->RemoveInstruction(last).ok());
      last = before;
    } while (!last->IsAsynchronous());
    return last;
  }

  HloInstruction* AddDone(HloInstruction* link) {
    return entry_->AddInstruction(HloInstruction::CreateAsyncDone(f32_, link));
  }

  std::vector<HloInstruction*> Links() const {
    std::vector<HloInstruction*> links;
    for (HloInstruction* inst : entry_->instructions()) {
      if (inst->IsAsynchronous()) links.push_back(inst);
    }
    return links;
  }

  void ExpectEndsAreFound() const {
    for (const HloInstruction* link : Links()) {
      EXPECT_EQ(link->async_chain_start(), StartByWalk(link)) << link->name();
      EXPECT_EQ(link->async_chain_done(), DoneByWalk(link)) << link->name();
    }
  }

 private:
  HloInstruction* Carried(HloInstruction* state, Way way) {
    switch (way) {
      case Way::kDirect:
        return state;
      case Way::kBarrier:
        return entry_->AddInstruction(HloInstruction::CreateUnary(
            state_, HloOpcode::kOptimizationBarrier, state));
      case Way::kTuple:
        return entry_->AddInstruction(HloInstruction::CreateGetTupleElement(
            state_,
            entry_->AddInstruction(HloInstruction::CreateTuple({state, x_})),
            0));
    }
    return nullptr;
  }

  const Shape f32_ = ShapeUtil::MakeShape(F32, {4});
  const Shape state_ = ShapeUtil::MakeTupleShape(
      {ShapeUtil::MakeTupleShape({f32_}), f32_, ShapeUtil::MakeShape(S32, {})});
  HloModule module_;
  HloComputation* entry_;
  HloInstruction* x_;
};

class AsyncSegmentsTest : public ::testing::TestWithParam<Way> {};

INSTANTIATE_TEST_SUITE_P(Ways, AsyncSegmentsTest,
                         ::testing::Values(Way::kDirect, Way::kBarrier,
                                           Way::kTuple));

TEST_P(AsyncSegmentsTest, EndsOfALongChain) {
  Chains chains;
  HloInstruction* start = chains.AddStart();
  HloInstruction* done =
      chains.AddDone(chains.AddUpdates(start, kUpdates, GetParam()));
  // The farthest first: the others are on its way.
  EXPECT_EQ(done->async_chain_start(), start);
  EXPECT_EQ(start->async_chain_done(), done);
  chains.ExpectEndsAreFound();
}

TEST_P(AsyncSegmentsTest, UpdatesChangeChains) {
  Chains chains;
  HloInstruction* one = chains.AddStart();
  HloInstruction* two = chains.AddStart();
  HloInstruction* middle = chains.AddUpdates(one, kUpdates, GetParam());
  HloInstruction* next = chains.AddUpdates(middle, 1);
  HloInstruction* done =
      chains.AddDone(chains.AddUpdates(next, kUpdates, GetParam()));
  HloInstruction* last = chains.AddUpdates(two, kUpdates, GetParam());
  chains.ExpectEndsAreFound();
  EXPECT_EQ(last->async_chain_done(), nullptr);
  ASSERT_TRUE(next->ReplaceOperandWith(0, last).ok());
  chains.ExpectEndsAreFound();
  EXPECT_EQ(done->async_chain_start(), two);
  EXPECT_EQ(middle->async_chain_done(), nullptr);
}

TEST_P(AsyncSegmentsTest, WhatCarriesTheStateChanges) {
  Chains chains;
  HloInstruction* one = chains.AddUpdates(chains.AddStart(), kUpdates);
  HloInstruction* two = chains.AddUpdates(chains.AddStart(), kUpdates);
  HloInstruction* next = chains.AddUpdates(one, 1, GetParam());
  chains.AddUpdates(next, kUpdates);
  chains.ExpectEndsAreFound();
  HloInstruction* taker = one->users()[0];
  ASSERT_TRUE(taker->ReplaceOperandWith(0, two).ok());
  chains.ExpectEndsAreFound();
}

TEST_P(AsyncSegmentsTest, AChainThatShrinksAndGrows) {
  Chains chains;
  HloInstruction* start = chains.AddStart();
  HloInstruction* last =
      chains.AddDone(chains.AddUpdates(start, kUpdates, GetParam()));
  chains.ExpectEndsAreFound();
  while (last != start) {
    last = chains.Remove(last);
    EXPECT_EQ(last->async_chain_start(), start);
    EXPECT_EQ(start->async_chain_done(), nullptr);
  }
  chains.entry()->Cleanup();
  chains.AddDone(chains.AddUpdates(start, kUpdates, GetParam()));
  chains.ExpectEndsAreFound();
}

TEST(LongAsyncChainsTest, ElementsChange) {
  Chains chains;
  HloInstruction* one = chains.AddUpdates(chains.AddStart(), kUpdates);
  HloInstruction* two = chains.AddUpdates(chains.AddStart(), kUpdates);
  HloInstruction* pair =
      chains.entry()->AddInstruction(HloInstruction::CreateTuple({one, two}));
  HloInstruction* element = chains.entry()->AddInstruction(
      HloInstruction::CreateGetTupleElement(one->shape(), pair, 0));
  HloInstruction* done = chains.AddDone(chains.AddUpdates(element, kUpdates));
  EXPECT_EQ(done->async_chain_start(), StartByWalk(one));
  EXPECT_EQ(one->async_chain_done(), done);
  EXPECT_EQ(two->async_chain_done(), nullptr);
  element->set_tuple_index(1);
  EXPECT_EQ(done->async_chain_start(), StartByWalk(two));
  EXPECT_EQ(one->async_chain_done(), nullptr);
  EXPECT_EQ(two->async_chain_done(), done);
}

// A tuple that has the old state twice still uses it afterwards.
TEST(LongAsyncChainsTest, OneOfTwoEqualOperandsChanges) {
  Chains chains;
  HloInstruction* one = chains.AddUpdates(chains.AddStart(), kUpdates);
  HloInstruction* two = chains.AddUpdates(chains.AddStart(), kUpdates);
  HloInstruction* pair =
      chains.entry()->AddInstruction(HloInstruction::CreateTuple({one, one}));
  HloInstruction* element = chains.entry()->AddInstruction(
      HloInstruction::CreateGetTupleElement(one->shape(), pair, 0));
  HloInstruction* done = chains.AddDone(chains.AddUpdates(element, kUpdates));
  EXPECT_EQ(done->async_chain_start(), StartByWalk(one));
  ASSERT_TRUE(pair->ReplaceOperandWith(0, two).ok());
  EXPECT_EQ(done->async_chain_start(), StartByWalk(two));
}

// Any link may have become the last one of its chain.
TEST(LongAsyncChainsTest, TheLastLinkFollowsAnother) {
  for (int removed = 0; removed < 70; ++removed) {
    Chains chains;
    HloInstruction* two = chains.AddUpdates(chains.AddStart(), 1);
    HloInstruction* last = chains.AddUpdates(chains.AddStart(), kUpdates);
    EXPECT_EQ(last->async_chain_start(), StartByWalk(last));
    for (int i = 0; i < removed; ++i) last = chains.Remove(last);
    ASSERT_TRUE(last->ReplaceOperandWith(0, two).ok());
    last = chains.AddUpdates(last, 40);
    EXPECT_EQ(last->async_chain_start(), StartByWalk(two)) << removed;
  }
}

// A start without operands that goes before its users.
TEST(LongAsyncChainsTest, TheStartIsDetached) {
  Chains chains;
  HloInstruction* start = chains.AddStartWithoutOperands();
  const HloInstruction* last = chains.AddUpdates(start, kUpdates);
  EXPECT_EQ(last->async_chain_start(), start);
  start->DetachFromOperandsAndUsers();
  EXPECT_EQ(last->async_chain_start(), nullptr);
}

// Targets change without notice, and with them whether a state passes.
TEST(LongAsyncChainsTest, TheTargetOfACustomCallChanges) {
  Chains chains;
  HloInstruction* one = chains.AddUpdates(chains.AddStart(), kUpdates);
  HloInstruction* call =
      chains.entry()->AddInstruction(HloInstruction::CreateCustomCall(
          one->shape(), {one}, /*custom_call_target=*/"Sharding"));
  const HloInstruction* last = chains.AddUpdates(call, kUpdates);
  EXPECT_EQ(last->async_chain_start(), StartByWalk(one));
  call->set_custom_call_target("other");
  EXPECT_EQ(last->async_chain_start(), nullptr);
}

// A tuple of something else, and an element that a tuple does not have.
TEST(LongAsyncChainsTest, TuplesWithoutTheState) {
  Chains chains;
  HloInstruction* start = chains.AddStart();
  HloInstruction* tuple =
      chains.entry()->AddInstruction(HloInstruction::CreateTuple({start}));
  EXPECT_EQ(chains.AddUpdates(tuple, 1)->async_chain_start(), nullptr);
  HloInstruction* element = chains.entry()->AddInstruction(
      HloInstruction::CreateGetTupleElement(start->shape(), tuple, 1));
  EXPECT_EQ(chains.AddUpdates(element, 1)->async_chain_start(), nullptr);
  HloInstruction* part = chains.entry()->AddInstruction(
      HloInstruction::CreateGetTupleElement(start->shape(), start, 1));
  EXPECT_EQ(chains.AddUpdates(part, 1)->async_chain_start(), nullptr);
}

// What was at an address before is forgotten.
TEST(LongAsyncChainsTest, OneModuleAfterAnother) {
  for (int i = 0; i < 10; ++i) {
    Chains chains;
    HloInstruction* start = chains.AddStart();
    HloInstruction* done =
        chains.AddDone(chains.AddUpdates(start, kUpdates + i));
    EXPECT_EQ(done->async_chain_start(), start);
    EXPECT_EQ(start->async_chain_done(), done);
  }
}

TEST(LongAsyncChainsTest, RandomSurgery) {
  Chains chains;
  std::mt19937 random(7);
  std::vector<HloInstruction*> ends = {chains.AddStart(), chains.AddStart(),
                                       chains.AddStart()};
  for (int step = 0; step < 120; ++step) {
    HloInstruction*& end = ends[random() % ends.size()];
    HloInstruction*& other = ends[random() % ends.size()];
    const int64_t action = random() % 4;
    if (action < 2) {
      const auto way = static_cast<Way>(random() % 3);
      end = chains.AddUpdates(end, 1 + static_cast<int>(random() % 60), way);
    } else if (action == 2 && end->opcode() == HloOpcode::kAsyncUpdate) {
      end = chains.Remove(end);
    } else if (end != other) {
      // What follows one link goes behind the end of another chain.
      HloInstruction* cut = end;
      for (int64_t i = random() % 100; i > 0; --i) {
        if (!cut->operand(0)->IsAsyncProducer()) break;
        cut = cut->mutable_operand(0);
      }
      if (cut->operand(0) == nullptr || !cut->operand(0)->IsAsyncProducer()) {
        continue;
      }
      HloInstruction* before = cut->mutable_operand(0);
      ASSERT_TRUE(cut->ReplaceOperandWith(0, other).ok());
      other = std::exchange(end, before);
    }
    for (const HloInstruction* link : ends) {
      ASSERT_EQ(link->async_chain_start(), StartByWalk(link)) << step;
      const HloInstruction* start = link->async_chain_start();
      ASSERT_EQ(start->async_chain_done(), DoneByWalk(start)) << step;
    }
    if (step % 40 == 0) chains.ExpectEndsAreFound();
  }
}

}  // namespace
}  // namespace xla
