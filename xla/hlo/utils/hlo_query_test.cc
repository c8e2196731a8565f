#include "xla/hlo/utils/hlo_query.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla {
namespace {

std::unique_ptr<HloModule> Parse(absl::string_view text) {
  auto module = ParseAndReturnUnverifiedModule(text);
  CHECK_OK(module.status());
  return *std::move(module);
}

HloInstruction* Find(const std::unique_ptr<HloModule>& module,
                     absl::string_view name) {
  HloInstruction* found =
      hlo_query::FindInstruction(module->entry_computation(), name);
  CHECK(found != nullptr) << name;
  return found;
}

TEST(HloQueryTest, CollectivesAndTheirHalves) {
  auto module = Parse(R"(
sum {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
ENTRY e {
  a = f32[4] parameter(0)
  tok = token[] after-all()
  ars = f32[4] all-reduce-start(a), channel_id=7, to_apply=sum
  ard = f32[4] all-reduce-done(ars)
  ats = ((f32[4]), f32[4]) all-to-all-start(a), dimensions={0}
  atd = f32[4] all-to-all-done(ats)
  cs = ((f32[4]), f32[4]) custom-call-start(a), custom_call_target="foo"
  cd = f32[4] custom-call-done(cs)
  send = (f32[4], u32[], token[]) send(a, tok), channel_id=3
  ROOT sd = token[] send-done(send), channel_id=3
})");
  EXPECT_TRUE(hlo_query::IsCollectiveCommunicationOp(HloOpcode::kAllToAll));
  EXPECT_FALSE(hlo_query::IsCollectiveCommunicationOp(HloOpcode::kSend));
  EXPECT_FALSE(
      hlo_query::IsCollectiveCommunicationOp(HloOpcode::kAllReduceDone));
  for (const char* start : {"ars", "ats"}) {
    EXPECT_TRUE(hlo_query::IsAsyncCollectiveStartOp(Find(module, start)));
    EXPECT_FALSE(hlo_query::IsAsyncCollectiveDoneOp(Find(module, start)));
  }
  for (const char* done : {"ard", "atd"}) {
    EXPECT_TRUE(hlo_query::IsAsyncCollectiveDoneOp(Find(module, done)));
    EXPECT_FALSE(hlo_query::IsAsyncCollectiveStartOp(Find(module, done)));
  }
  EXPECT_FALSE(hlo_query::IsAsyncCollectiveStartOp(Find(module, "cs")));
  EXPECT_FALSE(hlo_query::IsAsyncCollectiveDoneOp(Find(module, "cd")));
  EXPECT_FALSE(hlo_query::IsAsyncCollectiveStartOp(Find(module, "send")));
  EXPECT_TRUE(hlo_query::IsAsyncCollectiveStartOp(Find(module, "send"),
                                                  /*include_send_recv=*/true));
  EXPECT_TRUE(hlo_query::IsAsyncCollectiveDoneOp(Find(module, "sd"),
                                                 /*include_send_recv=*/true));
  EXPECT_EQ(hlo_query::NextChannelId(*module), 8);
  EXPECT_EQ(hlo_query::NextChannelId(*Parse("ENTRY e { ROOT a = f32[] "
                                            "parameter(0) }")),
            1);
}

TEST(HloQueryTest, LayoutConstraintsAndHostTransfers) {
  auto with = [](absl::string_view all_reduce_attribute,
                 absl::string_view send_attribute) {
    return Parse(absl::StrCat(R"(
sum {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
ENTRY e {
  a = f32[4] parameter(0)
  r = f32[4] all-reduce(a), to_apply=sum)",
                              all_reduce_attribute, R"(
  tok = token[] after-all()
  ROOT send = (f32[4], u32[], token[]) send(r, tok), channel_id=3)",
                              send_attribute, "}"));
  };
  EXPECT_FALSE(hlo_query::ContainsLayoutConstrainedAllReduce(*with("", "")));
  auto constrained = with(", constrain_layout=true", "");
  EXPECT_TRUE(hlo_query::ContainsLayoutConstrainedAllReduce(*constrained));
  EXPECT_FALSE(hlo_query::ContainsLayoutConstrainedCollective(
      *constrained, HloOpcode::kAllGather));
  EXPECT_FALSE(hlo_query::HasX64TransformedHostTransfer(*with("", "\n")));
  EXPECT_FALSE(hlo_query::HasX64TransformedHostTransfer(
      *with("", ", is_host_transfer=true")));
  EXPECT_TRUE(hlo_query::HasX64TransformedHostTransfer(
      *with("",
            ", is_host_transfer=true, frontend_attributes={"
            "_xla_host_transfer_is_lower_bits=\"true\"}")));
}

TEST(HloQueryTest, ConstantsScalarsAndBroadcasts) {
  auto module = Parse(R"(
ENTRY e {
  p = f32[4] parameter(0)
  s = f32[] parameter(1)
  c = f32[] constant(2.5)
  i = s32[] constant(2)
  v = f32[4] constant({1, 2, 3, 4})
  bp = f32[2,4] broadcast(p), dimensions={1}
  bc = f32[4] broadcast(c), dimensions={}
  bv = f32[2,4] broadcast(v), dimensions={1}
  bs = f32[4] broadcast(s), dimensions={}
  ROOT t = (f32[2,4], f32[4], f32[2,4], f32[4], s32[]) tuple(bp, bc, bv, bs, i)
})");
  float value = 0;
  EXPECT_TRUE(hlo_query::IsConstantR0F32(Find(module, "c"), &value));
  EXPECT_EQ(value, 2.5f);
  for (const char* name : {"i", "v", "s"}) {
    EXPECT_FALSE(hlo_query::IsConstantR0F32(Find(module, name), &value));
  }
  EXPECT_EQ(value, 2.5f);

  auto where = [&](auto predicate) {
    std::string names;
    for (HloInstruction* instr : module->entry_computation()->instructions()) {
      if (predicate(*instr)) absl::StrAppend(&names, instr->name(), " ");
    }
    return names;
  };
  EXPECT_EQ(where([](auto& i) { return hlo_query::IsScalarConstant(&i); }),
            "c i ");
  EXPECT_EQ(where(hlo_query::IsBroadcastedConstantOrScalar),
            "s c i v bc bv bs ");
  EXPECT_EQ(where(hlo_query::IsBroadcastOfScalarConstant), "bc ");
  EXPECT_EQ(where(hlo_query::IsBroadcastOfParameter), "bp bs ");
}

TEST(HloQueryTest, AllElementsAreOneConstant) {
  auto module = Parse(R"(
ENTRY e {
  p = f32[2] parameter(0)
  zero = f32[] constant(0)
  minus_zero = f32[2] constant({0, -0.0})
  one = f32[2] constant({1, 1})
  mixed = f32[2] constant({0, 1})
  elided = f32[2] constant({...})
  pair = (f32[], f32[]) constant((0, 0))
  reshaped = f32[1,1] reshape(zero)
  wide = f32[4,1,1] broadcast(reshaped), dimensions={1,2}
  flat = f32[4] reshape(wide)
  wide_one = f32[4,2] broadcast(one), dimensions={1}
  wide_elided = f32[4,2] broadcast(elided), dimensions={1}
  wide_p = f32[4,2] broadcast(p), dimensions={1}
  not_a_number = f32[] constant(nan)
  byte = s8[] constant(0)
  ROOT not = pred[] constant(false)
})");
  auto where = [&](int8_t value) {
    std::string names;
    for (HloInstruction* instr : module->entry_computation()->instructions()) {
      if (hlo_query::IsAllConstant(instr, value)) {
        absl::StrAppend(&names, instr->name(), " ");
      }
    }
    return names;
  };
  EXPECT_EQ(where(0), "zero minus_zero reshaped wide flat byte not ");
  EXPECT_EQ(where(1), "one wide_one ");
  EXPECT_EQ(where(2), "");
}

TEST(HloQueryTest, OperandsOfAKind) {
  auto module = Parse(R"(
ENTRY e {
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  c = f32[] constant(1)
  d = f32[] constant(2)
  pq = f32[] add(p, q)
  pc = f32[] add(p, c)
  qd = f32[] add(q, d)
  dd = f32[] multiply(d, d)
  ROOT t = (f32[], f32[], f32[], f32[]) tuple(pq, pc, qd, dd)
})");
  using Predicate = bool (*)(const HloInstruction&);
  auto results = [&](Predicate predicate) {
    std::string names;
    for (const char* name : {"pq", "pc", "qd", "dd", "t", "c"}) {
      if (predicate(*Find(module, name))) absl::StrAppend(&names, name, " ");
    }
    return names;
  };
  EXPECT_EQ(results(hlo_query::AllOperandsAreParameters), "pq c ");
  EXPECT_EQ(results(hlo_query::AllOperandsAreConstants), "dd c ");
  EXPECT_EQ(results(hlo_query::AllOperandsAreParametersOrConstants),
            "pq pc qd dd c ");
  EXPECT_EQ(
      results(hlo_query::AllOperandsAreParametersOrConstantsWithSingleUser),
      "c ");
}

TEST(HloQueryTest, OperandSearch) {
  auto module = Parse(R"(
ENTRY e {
  p = f32[] parameter(0)
  c = f32[] constant(1)
  pc = f32[] add(p, c)
  ROOT n = f32[] negate(pc)
})");
  HloInstruction* p = Find(module, "p");
  HloInstruction* c = Find(module, "c");
  HloInstruction* pc = Find(module, "pc");
  auto is_constant = [](const HloInstruction* i) { return i->IsConstant(); };
  EXPECT_EQ(hlo_query::GetMatchingOperand(is_constant, pc), c);
  EXPECT_EQ(hlo_query::GetMatchingOperand(is_constant, Find(module, "n")),
            nullptr);
  HloInstruction* matching = nullptr;
  HloInstruction* other = nullptr;
  EXPECT_TRUE(hlo_query::MatchBinaryInstructionOperandOpcode(
      HloOpcode::kConstant, pc, &matching, &other));
  EXPECT_EQ(matching, c);
  EXPECT_EQ(other, p);
  EXPECT_TRUE(hlo_query::MatchBinaryInstructionOperandOpcode(
      HloOpcode::kParameter, pc, &matching, &other));
  EXPECT_EQ(matching, p);
  EXPECT_EQ(other, c);
  EXPECT_FALSE(hlo_query::MatchBinaryInstructionOperandOpcode(
      HloOpcode::kIota, pc, &matching, &other));
  EXPECT_EQ(matching, p);
}

TEST(HloQueryTest, CastsAndEffectiveParameters) {
  auto module = Parse(R"(
ENTRY e {
  t = (f32[4], f32[4]) parameter(0)
  g = f32[4] get-tuple-element(t), index=1
  b = f32[2,2] bitcast(g)
  n = f32[2,2] negate(b)
  i = s32[2,2] bitcast-convert(n)
  j = s64[2,2] convert(i)
  k = s64[4] bitcast(j)
  ROOT y = s64[4] copy(k)
})");
  EXPECT_TRUE(hlo_query::IsEffectiveParameter(*Find(module, "t")));
  EXPECT_TRUE(hlo_query::IsEffectiveParameter(*Find(module, "b")));
  EXPECT_FALSE(hlo_query::IsEffectiveParameter(*Find(module, "n")));
  EXPECT_EQ(hlo_query::StripCastLike(Find(module, "k")), Find(module, "n"));
  EXPECT_EQ(hlo_query::StripCastLike(Find(module, "y")), Find(module, "y"));
}

TEST(HloQueryTest, Search) {
  auto module = Parse(R"(
f {
  x = f32[] parameter(0)
  ROOT y = f32[] exponential(x)
}
ENTRY e {
  p = f32[] parameter(0)
  n = f32[] negate(p)
  m = f32[] negate(n)
  ROOT c = f32[] call(m), to_apply=f
})");
  HloComputation* entry = module->entry_computation();
  EXPECT_EQ(
      hlo_query::GetFirstInstructionWithOpcode(*entry, HloOpcode::kNegate),
      Find(module, "n"));
  EXPECT_EQ(hlo_query::GetFirstInstructionWithOpcode(
                *entry, {HloOpcode::kCall, HloOpcode::kNegate}),
            Find(module, "n"));
  EXPECT_EQ(hlo_query::GetFirstInstructionWithOpcode(*entry, HloOpcode::kExp),
            nullptr);
  EXPECT_EQ(hlo_query::FindInstruction(entry, HloOpcode::kCall),
            entry->root_instruction());
  EXPECT_EQ(hlo_query::FindInstruction(entry, "nobody"), nullptr);
  EXPECT_EQ(hlo_query::FindComputation(module.get(), "f"),
            entry->root_instruction()->to_apply());
  EXPECT_EQ(hlo_query::FindComputation(module.get(), "g"), nullptr);
  EXPECT_TRUE(hlo_query::ContainsInstrWithOpcode(
      entry, {HloOpcode::kExp, HloOpcode::kCall}));
  EXPECT_FALSE(hlo_query::ContainsInstrWithOpcode(entry, {HloOpcode::kExp}));

  std::vector<std::string> names;
  auto collect = [&](HloInstruction* i) { names.emplace_back(i->name()); };
  hlo_query::ForEachInstructionWithOpcode(*entry, HloOpcode::kNegate, collect);
  EXPECT_EQ(names, (std::vector<std::string>{"n", "m"}));
  names.clear();
  hlo_query::ForEachInstructionWithOpcode(*module, HloOpcode::kParameter,
                                          collect);
  EXPECT_EQ(names, (std::vector<std::string>{"x", "p"}));
  names.clear();
  hlo_query::ForEachInstructionWithPred(
      *module, [](const HloInstruction* i) { return i->IsRoot(); }, collect);
  EXPECT_EQ(names, (std::vector<std::string>{"y", "c"}));
  names.clear();
  hlo_query::ForEachInstructionWithPred(
      *entry, [](const HloInstruction* i) { return i->IsRoot(); }, collect);
  EXPECT_EQ(names, (std::vector<std::string>{"c"}));
}

TEST(HloQueryTest, GetTupleElements) {
  auto module = Parse(R"(
ENTRY e {
  t = (f32[], f32[], f32[]) parameter(0)
  a = f32[] get-tuple-element(t), index=0
  b = f32[] get-tuple-element(t), index=1
  c = f32[] get-tuple-element(t), index=1
  ROOT r = (f32[], f32[], f32[]) tuple(a, b, c)
})");
  HloInstruction* t = Find(module, "t");
  EXPECT_EQ(hlo_query::GetUniqueGteInstruction(t, 0), Find(module, "a"));
  EXPECT_EQ(hlo_query::GetUniqueGteInstruction(t, 1), nullptr);
  EXPECT_EQ(hlo_query::GetUniqueGteInstruction(t, 2), nullptr);
  const HloComputation* entry = module->entry_computation();
  EXPECT_EQ(hlo_query::CountGteInstructionsWithIndex(entry, 0), 1);
  EXPECT_EQ(hlo_query::CountGteInstructionsWithIndex(entry, 1), 2);
  EXPECT_EQ(hlo_query::CountGteInstructionsWithIndex(entry, 2), 0);
}

TEST(HloQueryTest, ChangeTilingCopyFusion) {
  auto fusion = [](absl::string_view to, absl::string_view body) {
    return Parse(
        absl::StrCat("f {\n  p = f32[8,8]{1,0} parameter(0)\n  ROOT c = ", to,
                     " ", body, R"((p)
}
ENTRY e {
  a = f32[8,8]{1,0} parameter(0)
  ROOT r = )",
                     to, " fusion(a), kind=kLoop, calls=f\n}"));
  };
  auto is = [](const std::unique_ptr<HloModule>& module) {
    return hlo_query::IsChangeTilingCopyFusion(Find(module, "r"));
  };
  EXPECT_TRUE(is(fusion("f32[8,8]{1,0:T(4,4)}", "copy")));
  EXPECT_FALSE(is(fusion("f32[8,8]{1,0}", "copy")));
  EXPECT_FALSE(is(fusion("f32[8,8]{0,1:T(4,4)}", "copy")));
  EXPECT_FALSE(is(fusion("f32[8,8]{1,0:T(4,4)}", "negate")));
}

TEST(HloQueryTest, StandardAssociativeScan) {
  auto scan = [](absl::string_view step, absl::string_view root,
                 absl::string_view associative) {
    return Parse(absl::StrCat(R"(
step {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  s = f32[] )",
                              step, "\n  ROOT t = (f32[], f32[]) tuple(", root,
                              R"()
}
ENTRY e {
  a = f32[8] parameter(0)
  z = f32[] constant(0)
  ROOT r = (f32[8], f32[]) scan(a, z), dimensions={0}, to_apply=step, num_carries=1, is_associative=)",
                              associative, "\n}"));
  };
  auto is = [](const std::unique_ptr<HloModule>& module) {
    return hlo_query::IsStandardAssociativeScan(Find(module, "r"));
  };
  EXPECT_TRUE(is(scan("add(x, y)", "s, s", "true")));
  EXPECT_TRUE(is(scan("maximum(y, x)", "s, s", "true")));
  EXPECT_FALSE(is(scan("add(x, y)", "s, s", "false")));
  EXPECT_FALSE(is(scan("subtract(x, y)", "s, s", "true")));
  EXPECT_FALSE(is(scan("add(x, x)", "s, s", "true")));
  EXPECT_FALSE(is(scan("add(x, y)", "x, s", "true")));
}

}  // namespace
}  // namespace xla
