// Options of the verifier, and what depends on them.

#include "xla/hlo/verifier/hlo_verifier.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/verifier/shape_verifier.h"
#include "xla/layout.h"
#include "xla/shape_layout.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::unique_ptr<HloModule> Parse(absl::string_view text) {
  auto module = ParseAndReturnUnverifiedModule(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? *std::move(module) : nullptr;
}

void ExpectGood(absl::string_view text, const HloVerifierOpts& opts) {
  std::unique_ptr<HloModule> module = Parse(text);
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(VerifyHloModule(module.get(), opts), absl::OkStatus());
}

void ExpectBroken(const HloModule& module, const HloVerifierOpts& opts,
                  const std::string& number, const std::string& text = "") {
  const absl::Status status = VerifyHloModule(&module, opts);
  EXPECT_THAT(std::string(status.message()),
              AllOf(StartsWith(number), HasSubstr(text)));
}

void ExpectBroken(absl::string_view text, const HloVerifierOpts& opts,
                  const std::string& number, const std::string& detail = "") {
  std::unique_ptr<HloModule> module = Parse(text);
  ASSERT_NE(module, nullptr);
  ExpectBroken(*module, opts, number, detail);
}

HloVerifierOpts LayoutSensitive() {
  return HloVerifierOpts().MakeLayoutSensitive();
}

TEST(HloVerifierTest, ErrorsAreInvalidArguments) {
  std::unique_ptr<HloModule> module = Parse(R"(
    ENTRY e {
      a = f32[4] parameter(0)
      ROOT n = f32[5] negate(a)
    })");
  const absl::Status status = VerifyHloModule(module.get(), {});
  EXPECT_EQ(status,
            absl::InvalidArgumentError(
                "[V50] a unary operation has the shape that follows from its "
                "operand: %n = f32[5] negate(%a) in computation %e: expected "
                "f32[4], found f32[5]"));
}

constexpr absl::string_view kMixed = R"(
    ENTRY e {
      a = f32[4] parameter(0)
      b = bf16[4] parameter(1)
      ROOT s = f32[4] add(a, b)
    })";

TEST(HloVerifierTest, MixedPrecision) {
  ExpectGood(kMixed, HloVerifierOpts().AllowMixedPrecision());
  ExpectBroken(kMixed, {}, "[V46]", "f32[4] and bf16[4]");
  // One operand of several.
  ExpectBroken(R"(
    ENTRY e {
      a = f32[4] parameter(0)
      b = bf16[] parameter(1)
      ROOT s = f32[6] pad(a, b), padding=1_1
    })",
               {}, "[V46]", "f32[4] and bf16[]");
}

// Parameters of a mapped computation have the precision of the operands.
TEST(HloVerifierTest, MappedPrecision) {
  constexpr absl::string_view kText = R"(
    f {
      p = f32[] parameter(0)
      ROOT n = f32[] negate(p)
    }
    ENTRY e {
      a = bf16[4] parameter(0)
      ROOT r = f32[4] map(a), dimensions={0}, to_apply=f
    })";
  ExpectBroken(kText, {}, "[V59]", "operand 0 is bf16[4]");
  ExpectGood(kText, HloVerifierOpts().AllowMixedPrecision());
}

// What is updated in place keeps its type, whatever precision may meet it.
TEST(HloVerifierTest, UpdatedPrecision) {
  ExpectBroken(R"(
    ENTRY e {
      a = f32[4] parameter(0)
      u = f32[2] parameter(1)
      i = s32[] parameter(2)
      ROOT r = bf16[4] dynamic-update-slice(a, u, i)
    })",
               HloVerifierOpts().AllowMixedPrecision(), "[V80]",
               "expected f32[4], found bf16[4]");
  ExpectGood(R"(
    ENTRY e {
      a = f32[4] parameter(0)
      u = bf16[2] parameter(1)
      i = s32[] parameter(2)
      ROOT r = f32[4] dynamic-update-slice(a, u, i)
    })",
             HloVerifierOpts().AllowMixedPrecision());
}

// A custom call may move what it aliases to another memory, not lay it out
// anew.
TEST(HloVerifierTest, AliasedMemorySpace) {
  ExpectGood(R"(
    ENTRY e {
      a = f32[1]{0:T(128)S(6)} parameter(0)
      ROOT r = f32[1]{0:T(128)} custom-call(a), custom_call_target="c", output_to_operand_aliasing={{}: (0, {})}
    })",
             LayoutSensitive());
  ExpectBroken(R"(
    ENTRY e {
      a = f32[1]{0:T(256)S(6)} parameter(0)
      ROOT r = f32[1]{0:T(128)} custom-call(a), custom_call_target="c", output_to_operand_aliasing={{}: (0, {})}
    })",
               LayoutSensitive(), "[V121]");
}

// What callers match on.
TEST(HloVerifierTest, StatusCodes) {
  std::unique_ptr<HloModule> seed = Parse(R"(
    ENTRY e {
      ROOT r = u32[] custom-call(), custom_call_target="GetRngSeed"
    })");
  EXPECT_TRUE(absl::IsInternal(VerifyHloModule(seed.get(), {})));
  std::unique_ptr<HloModule> scaled = Parse(R"(
    ENTRY e {
      a = f8e4m3fn[4,32] parameter(0)
      b = f8e4m3fn[32,8] parameter(1)
      s = bf16[] parameter(2)
      ROOT d = f32[4,8] scaled-dot(a, b, s, s), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    })");
  EXPECT_TRUE(absl::IsFailedPrecondition(VerifyHloModule(scaled.get(), {})));
}

TEST(HloVerifierTest, ThreadsThatAreNotAskedFor) {
  constexpr absl::string_view kText = R"(
    HloModule m
    side {
      p = f32[4] parameter(0)
      ROOT n = f32[5] negate(p)
    }, execution_thread="side"
    ENTRY e {
      ROOT a = f32[4] parameter(0)
    })";
  std::unique_ptr<HloModule> module = Parse(kText);
  EXPECT_EQ(VerifyHloModule(module.get(), {}, {"main"}), absl::OkStatus());
  EXPECT_FALSE(VerifyHloModule(module.get(), {}, {"side"}).ok());
  EXPECT_FALSE(VerifyHloModule(module.get(), {}).ok());
}

TEST(HloVerifierTest, MissingLayout) {
  std::unique_ptr<HloModule> module = Parse(R"(
    ENTRY e {
      a = f32[4]{0} parameter(0)
      ROOT n = f32[4]{0} negate(a)
    })");
  EXPECT_EQ(VerifyHloModule(module.get(), LayoutSensitive()), absl::OkStatus());
  HloInstruction* root = module->entry_computation()->root_instruction();
  root->mutable_shape()->clear_layout();
  EXPECT_EQ(VerifyHloModule(module.get(), {}), absl::OkStatus());
  ExpectBroken(*module, LayoutSensitive(), "[V41]");
}

TEST(HloVerifierTest, LayoutsAreKept) {
  constexpr absl::string_view kText = R"(
    ENTRY e {
      a = f32[4,8]{0,1} parameter(0)
      ROOT n = f32[4,8]{1,0} negate(a)
    })";
  ExpectGood(kText, {});
  ExpectGood(kText, LayoutSensitive());
  ExpectBroken(kText,
               LayoutSensitive().WithInstructionCanChangeLayout(
                   &HloPredicateIsOp<HloOpcode::kCopy>),
               "[V42]", "expected the layout of f32[4,8]{0,1}");
}

TEST(HloVerifierTest, LayoutsOfOneValueAreTheSame) {
  constexpr absl::string_view kText = R"(
    ENTRY e {
      a = (f32[4,8]{0,1}, s32[]) parameter(0)
      ROOT g = f32[4,8]{1,0} get-tuple-element(a), index=0
    })";
  ExpectGood(kText, {});
  ExpectBroken(kText, LayoutSensitive(), "[V111]");
}

TEST(HloVerifierTest, HostMemory) {
  constexpr absl::string_view kText = R"(
    ENTRY e {
      a = f32[4]{0:S(5)} parameter(0)
      ROOT c = f32[4]{0} copy(a)
    })";
  ExpectGood(kText, LayoutSensitive());
  ExpectBroken(kText, HloVerifierOpts().VerifyNoHostMemorySpace(), "[V43]",
               "S(5)");
}

TEST(HloVerifierTest, UnboundedDimensions) {
  constexpr absl::string_view kText = R"(
    ENTRY e {
      a = f32[?,3] parameter(0)
      ROOT t = (f32[?,2], s32[?,2]) topk(a), k=2, largest=true
    })";
  ExpectBroken(kText, {}, "[V44]", "f32[?,3]");
  ExpectBroken(kText,
               HloVerifierOpts().WithSupportedUnboundedDynamicOp(
                   &HloPredicateIsOp<HloOpcode::kParameter>),
               "[V44]", "f32[?,2]");
  ExpectGood(kText,
             HloVerifierOpts().WithSupportedUnboundedDynamicOp(
                 &HloPredicateIsOp<HloOpcode::kParameter, HloOpcode::kTopK>));
}

TEST(HloVerifierTest, ElementSize) {
  ExpectGood(R"(ENTRY e { ROOT a = s4[8]{0:E(4)} parameter(0) })",
             LayoutSensitive());
  ExpectBroken(R"(ENTRY e { ROOT a = f32[8]{0:E(4)} parameter(0) })",
               LayoutSensitive(), "[V45]", "4 bits");
}

TEST(HloVerifierTest, BroadcastOrder) {
  constexpr absl::string_view kText = R"(
    ENTRY e {
      a = f32[4,8] parameter(0)
      ROOT b = f32[8,4] broadcast(a), dimensions={1,0}
    })";
  ExpectGood(kText, {});
  ExpectBroken(kText, HloVerifierOpts().VerifyBroadcastDimensionsOrder(),
               "[V71]", "{1,0}");
}

TEST(HloVerifierTest, ReshapeThatMovesElements) {
  constexpr absl::string_view kText = R"(
    ENTRY e {
      a = f32[4,8]{0,1} parameter(0)
      ROOT r = f32[32]{0} reshape(a)
    })";
  ExpectGood(kText, LayoutSensitive());
  ExpectBroken(kText, LayoutSensitive().VerifyReshapeIsBitcast(), "[V73]");
}

TEST(HloVerifierTest, BitcastThatChangesSize) {
  constexpr absl::string_view kText = R"(
    ENTRY e {
      a = f32[4] parameter(0)
      ROOT b = f32[5] bitcast(a)
    })";
  ExpectGood(kText, {});
  ExpectBroken(kText, LayoutSensitive(), "[V76]",
               "expected 16 bytes, found 20");
  ExpectGood(kText,
             LayoutSensitive().WithAllowBitcastToHaveDifferentSize(true));
  ExpectGood(kText, LayoutSensitive().WithCustomShapeSize(
                        [](const Shape&) { return 64; }));
}

TEST(HloVerifierTest, ShardingDevices) {
  constexpr absl::string_view kText = R"(
    HloModule m, num_partitions=4
    ENTRY e {
      ROOT a = f32[4] parameter(0), sharding={devices=[2]<=[2]}
    })";
  ExpectBroken(kText, {}, "[V170]");
  ExpectGood(kText, HloVerifierOpts().WithVerifyShardingDeviceNumbers(false));
}

TEST(HloVerifierTest, ReplicaGroups) {
  constexpr absl::string_view kText = R"(
    HloModule m, replica_count=2
    add {
      a = f32[] parameter(0)
      b = f32[] parameter(1)
      ROOT s = f32[] add(a, b)
    }
    ENTRY e {
      a = f32[4] parameter(0)
      ROOT r = f32[4] all-reduce(a), replica_groups={{0,7}}, to_apply=add
    })";
  ExpectBroken(kText, {}, "[V158]");
  ExpectGood(kText, HloVerifierOpts().WithCheckReplicaGroups(false));
}

// A transfer of the pairs, and what runs between its beginnings.
std::string TransferText(absl::string_view first, absl::string_view second,
                         absl::string_view pairs,
                         absl::string_view between = "") {
  const auto begin = [&](absl::string_view opcode) {
    return absl::StrCat(
        opcode, " = (f32[4], u32[], token[]) ", opcode,
        opcode == "send" ? "(a, tok)" : "(tok)",
        ", channel_id=1, "
        "frontend_attributes={_xla_send_recv_source_target_pairs=\"",
        pairs, "\"}\n");
  };
  return absl::StrCat(R"(
    HloModule m, is_scheduled=true, num_partitions=4
    add {
      a = f32[] parameter(0)
      b = f32[] parameter(1)
      ROOT s = f32[] add(a, b)
    }
    callee {
      a = f32[4] parameter(0)
      ROOT r = f32[4] all-reduce(a), replica_groups={}, to_apply=add
    }
    ENTRY e {
      a = f32[4] parameter(0)
      tok = token[] after-all()
)",
                      begin(first), between, begin(second), R"(
      recv-done = (f32[4], token[]) recv-done(recv), channel_id=1
      send-done = token[] send-done(send), channel_id=1
      ROOT r = f32[4] get-tuple-element(recv-done), index=0
    })");
}

TEST(HloVerifierTest, RecvWaitsForItsSend) {
  const auto opts = [] {
    return HloVerifierOpts().WithVerifyNoCollectiveDeadlocks(true);
  };
  constexpr absl::string_view kCall = "c = f32[4] call(a), to_apply=callee\n";
  const std::string between = TransferText("recv", "send", "{{0,1}}", kCall);
  // Only where it is asked for.
  ExpectGood(between, {});
  ExpectBroken(between, opts(), "[V165]",
               "it starts while a recv of {{0,1}} waits for its send");
  // Nothing waits for a send that has begun.
  ExpectGood(TransferText("send", "recv", "{{0,1}}", kCall), opts());
  ExpectGood(TransferText("recv", "send", "{{0,1},{1,2}}"), opts());
  ExpectBroken(TransferText("recv", "send", "{{0,1},{0,2}}"), opts(), "[V165]",
               "found 0 twice as source");
  ExpectBroken(TransferText("recv", "send", "{{0,1},{1,2},{2,0}}"), opts(),
               "[V165]", "its pairs come back to device 0");
}

// Counts shapes, and lets custom-calls to "odd" have any.
class OddShapeVerifier : public ShapeVerifier {
 public:
  using ShapeVerifier::ShapeVerifier;
  absl::Status HandleNegate(HloInstruction* negate) override {
    if (negate->name() == "odd") return absl::OkStatus();
    return ShapeVerifier::HandleNegate(negate);
  }
  absl::Status HandleCall(HloInstruction* call) override {
    return absl::UnimplementedError("no calls");
  }
};

class OddTarget : public TargetVerifierMetadata {
 public:
  OddTarget() : TargetVerifierMetadata(HloVerifierOpts()) {}
  std::unique_ptr<ShapeVerifier> GetVerifier() const override {
    return std::make_unique<OddShapeVerifier>(GetVerifierOpts());
  }
};

TEST(HloVerifierTest, TargetsOverrideRules) {
  std::unique_ptr<HloModule> module = Parse(R"(
    ENTRY e {
      a = f32[4] parameter(0)
      ROOT odd = f32[5] negate(a)
    })");
  EXPECT_FALSE(VerifyHloModule(module.get(), HloVerifierOpts()).ok());
  EXPECT_FALSE(VerifyHloModuleForTarget(
                   module.get(), DefaultVerifierMetadata(HloVerifierOpts()))
                   .ok());
  EXPECT_EQ(VerifyHloModuleForTarget(module.get(), OddTarget()),
            absl::OkStatus());
  module->entry_computation()->root_instruction()->SetAndSanitizeName("even");
  const absl::Status status =
      VerifyHloModuleForTarget(module.get(), OddTarget());
  EXPECT_THAT(std::string(status.message()), StartsWith("[V50]"));
}

TEST(HloVerifierTest, TargetsAddRules) {
  std::unique_ptr<HloModule> module = Parse(R"(
    HloModule m
    callee {
      ROOT p = f32[4] parameter(0)
    }
    ENTRY e {
      a = f32[4] parameter(0)
      ROOT c = f32[4] call(a), to_apply=callee
    })");
  EXPECT_EQ(VerifyHloModule(module.get(), HloVerifierOpts()), absl::OkStatus());
  EXPECT_TRUE(absl::IsUnimplemented(
      VerifyHloModuleForTarget(module.get(), OddTarget())));
}

// --- What the parser does not let through
// --------------------------------------

TEST(HloVerifierTest, EntryLayoutOfAnotherShape) {
  std::unique_ptr<HloModule> module =
      Parse("ENTRY e { ROOT a = f32[4] parameter(0) }");
  *module->mutable_entry_computation_layout()->mutable_parameter_layout(0) =
      ShapeLayout(ShapeUtil::MakeShape(F32, {5}));
  ExpectBroken(*module, {}, "[V171]", "expected f32[5], found f32[4]");
}

TEST(HloVerifierTest, ScheduleThatMissesAnInstruction) {
  std::unique_ptr<HloModule> module = Parse(R"(
    HloModule m, is_scheduled=true
    ENTRY e {
      a = f32[4] parameter(0)
      ROOT n = f32[4] negate(a)
    })");
  EXPECT_EQ(VerifyHloModule(module.get(), {}), absl::OkStatus());
  HloComputation* entry = module->entry_computation();
  entry->AddInstruction(HloInstruction::CreateUnary(
      ShapeUtil::MakeShape(F32, {4}), HloOpcode::kAbs,
      entry->parameter_instruction(0)));
  ExpectBroken(*module, {}, "[V174]", "is missing in the schedule");
}

TEST(HloVerifierTest, AliasOfAnotherSize) {
  std::unique_ptr<HloModule> module = Parse(R"(
    HloModule m, input_output_alias={ {}: (0, {}) }
    ENTRY e {
      a = f32[4] parameter(0)
      ROOT n = f32[4] negate(a)
    })");
  EXPECT_EQ(VerifyHloModule(module.get(), {}), absl::OkStatus());
  HloComputation* entry = module->entry_computation();
  HloInstruction* cut = entry->AddInstruction(
      HloInstruction::CreateSlice(ShapeUtil::MakeShape(F32, {2}),
                                  entry->root_instruction(), {0}, {2}, {1}));
  entry->set_root_instruction(cut, /*accept_different_shape=*/true);
  *module->mutable_entry_computation_layout()->mutable_result_layout() =
      ShapeLayout(cut->shape());
  ExpectBroken(*module, {}, "[V172]", "16 bytes");
}

TEST(HloVerifierTest, LayoutOfAnotherRank) {
  std::unique_ptr<HloModule> module =
      Parse("ENTRY e { ROOT a = f32[4,8] parameter(0) }");
  HloInstruction* root = module->entry_computation()->root_instruction();
  *root->mutable_shape()->mutable_layout() = Layout({0});
  ExpectBroken(*module, {}, "[V40]");
  *root->mutable_shape()->mutable_layout() = Layout({0, 0});
  ExpectBroken(*module, {}, "[V40]");
  *root->mutable_shape()->mutable_layout() = Layout({0, 1});
  EXPECT_EQ(VerifyHloModule(module.get(), {}), absl::OkStatus());
}

TEST(HloVerifierTest, ArrayOfTooManyElements) {
  std::unique_ptr<HloModule> module =
      Parse("ENTRY e { ROOT a = f32[4,8] parameter(0) }");
  Shape* shape =
      module->entry_computation()->root_instruction()->mutable_shape();
  shape->set_dimensions(0, int64_t{1} << 40);
  *module->mutable_entry_computation_layout() =
      module->compute_computation_layout();
  EXPECT_EQ(VerifyHloModule(module.get(), {}), absl::OkStatus());
  shape->set_dimensions(1, int64_t{1} << 40);
  ExpectBroken(*module, {}, "[V40]");
}

TEST(HloVerifierTest, LiteralOfAnotherShape) {
  std::unique_ptr<HloModule> module =
      Parse("ENTRY e { ROOT c = f32[2] constant({1, 2}) }");
  HloInstruction* root = module->entry_computation()->root_instruction();
  *root->mutable_shape() = ShapeUtil::MakeShape(F32, {3});
  ExpectBroken(*module, {}, "[V56]", "expected f32[2], found f32[3]");
}

TEST(HloVerifierTest, ReshapeToAnotherSize) {
  std::unique_ptr<HloModule> module = Parse(R"(
    ENTRY e {
      a = f32[2,3] parameter(0)
      r = f32[6] reshape(a)
      ROOT c = f32[] custom-call(r), custom_call_target="c"
    })");
  EXPECT_EQ(VerifyHloModule(module.get(), {}), absl::OkStatus());
  HloInstruction* reshape =
      module->entry_computation()->root_instruction()->mutable_operand(0);
  *reshape->mutable_shape() = ShapeUtil::MakeShape(F32, {5});
  ExpectBroken(*module, {}, "[V72]");
}

TEST(HloVerifierTest, ElementBehindTheLast) {
  std::unique_ptr<HloModule> module = Parse(R"(
    ENTRY e {
      a = (f32[4], s32[]) parameter(0)
      ROOT g = f32[4] get-tuple-element(a), index=0
    })");
  EXPECT_EQ(VerifyHloModule(module.get(), {}), absl::OkStatus());
  module->entry_computation()->root_instruction()->set_tuple_index(2);
  ExpectBroken(*module, {}, "[V111]", "no element 2 in (f32[4]");
}

TEST(HloVerifierTest, ReplicationOfOtherLeaves) {
  std::unique_ptr<HloModule> module = Parse(
      "ENTRY e { ROOT a = f32[4] parameter(0), parameter_replication={true} }");
  EXPECT_EQ(VerifyHloModule(module.get(), {}), absl::OkStatus());
  HloInstruction* root = module->entry_computation()->root_instruction();
  *root->mutable_shape() =
      ShapeUtil::MakeTupleShape({root->shape(), root->shape()});
  ExpectBroken(*module, {}, "[V118]", "expected 2, found 1");
}

TEST(HloVerifierTest, AccuracyOfOtherOpcodes) {
  std::unique_ptr<HloModule> module = Parse(R"(
    ENTRY e {
      a = f32[4] parameter(0)
      t = f32[4] tanh(a), result_accuracy={tolerance={atol=0,rtol=0,ulps=1}}
      ROOT n = f32[4] negate(t)
    })");
  EXPECT_EQ(VerifyHloModule(module.get(), {}), absl::OkStatus());
  HloInstruction* tanh =
      module->entry_computation()->root_instruction()->mutable_operand(0);
  ResultAccuracy accuracy;
  accuracy.mutable_tolerance()->set_atol(-1);
  tanh->set_result_accuracy(accuracy);
  ExpectBroken(*module, {}, "[V60]", "%t");
}

TEST(HloVerifierTest, SendOfAnotherShape) {
  std::unique_ptr<HloModule> module = Parse(R"(
    ENTRY e {
      a = f32[4] parameter(0)
      tok = token[] after-all()
      s = (f32[4], u32[], token[]) send(a, tok), channel_id=1
      ROOT d = token[] send-done(s), channel_id=1
    })");
  EXPECT_EQ(VerifyHloModule(module.get(), {}), absl::OkStatus());
  HloInstruction* send =
      module->entry_computation()->root_instruction()->mutable_operand(0);
  *send->mutable_shape()->mutable_tuple_shapes(0) =
      ShapeUtil::MakeShape(F32, {5});
  ExpectBroken(*module, {}, "[V132]", "expected f32[4], found f32[5] as data");
}

TEST(HloVerifierTest, ComputationOnAnotherThread) {
  std::unique_ptr<HloModule> module = Parse(R"(
    HloModule m
    callee {
      p = f32[4] parameter(0)
      ROOT n = f32[4] negate(p)
    }, execution_thread="side"
    ENTRY e {
      a = f32[4] parameter(0)
      s = ((f32[4]), f32[4], u32[]) async-start(a), calls=callee, async_execution_thread="side"
      ROOT d = f32[4] async-done(s)
    })");
  EXPECT_EQ(VerifyHloModule(module.get(), {}), absl::OkStatus());
  module->GetComputationWithName("callee")->SetExecutionThread("main");
  ExpectBroken(*module, {}, "[V138]", "expected side, found main for %callee");
}

}  // namespace
}  // namespace xla
