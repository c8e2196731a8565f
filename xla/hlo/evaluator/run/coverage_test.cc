// Which opcodes are evaluated on which element types: builds a one-instruction
// module for every pair, and prints a table. A pair that the verifier takes and
// the evaluator does not is a failure, unless IsGap says why.

#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "xla/hlo/evaluator/devices/lockstep_evaluator.h"
#include "xla/hlo/evaluator/run/input_generator.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/verifier/hlo_verifier.h"
#include "xla/primitive_util.h"

namespace xla {
namespace {

// Computations that instructions apply, by name. $T is the type, $ADD an
// operation that joins two of them, $GE one that compares them.
constexpr std::pair<const char*, const char*> kComputations[] = {
    {"sum",
     "{ x = $T[] parameter(0) y = $T[] parameter(1) "
     "ROOT r = $T[] $ADD(x, y) }"},
    {"ge",
     "{ x = $T[] parameter(0) y = $T[] parameter(1) "
     "ROOT r = pred[] compare(x, y), direction=$GE }"},
    {"same", "{ ROOT x = $T[2,2] parameter(0) }"},
    {"never", "{ x = $T[2,2] parameter(0) ROOT c = pred[] constant(false) }"},
    {"step",
     "{ x = $T[2] parameter(0) y = $T[2] parameter(1) "
     "s = $T[2] $ADD(x, y) ROOT t = ($T[2], $T[2]) tuple(s, s) }"},
};

// Entry computations with operands a, b: $T[2,2], s: $T[], i: s32[].
struct Case {
  HloOpcode opcode;
  const char* text;
};
constexpr Case kCases[] = {
    {HloOpcode::kAddDependency,
     "t = token[] after-all() ROOT r = $T[2,2] add-dependency(a, t)"},
    {HloOpcode::kAfterAll,
     "t = token[] after-all() ROOT r = $T[2,2] add-dependency(a, t)"},
    {HloOpcode::kAllGather,
     "ROOT r = $T[2,2] all-gather(a), dimensions={0}, "
     "replica_groups={{0}}"},
    {HloOpcode::kAllGatherStart,
     "g = ($T[2,2], $T[2,2]) all-gather-start(a), dimensions={0}, "
     "replica_groups={{0}} ROOT r = $T[2,2] all-gather-done(g)"},
    {HloOpcode::kAllReduce,
     "ROOT r = $T[2,2] all-reduce(a), to_apply=sum, "
     "replica_groups={{0}}"},
    {HloOpcode::kAllReduceStart,
     "g = $T[2,2] all-reduce-start(a), to_apply=sum, replica_groups={{0}} "
     "ROOT r = $T[2,2] all-reduce-done(g)"},
    {HloOpcode::kAllToAll,
     "ROOT r = $T[2,2] all-to-all(a), dimensions={0}, "
     "replica_groups={{0}}"},
    {HloOpcode::kAsyncStart,
     "g = (($T[2,2]), $T[2,2], u32[]) async-start(a), calls=same "
     "ROOT r = $T[2,2] async-done(g), calls=same"},
    {HloOpcode::kAsyncUpdate,
     "g = (($T[2,2]), $T[2,2], u32[]) async-start(a), calls=same "
     "u = (($T[2,2]), $T[2,2], u32[]) async-update(g), calls=same "
     "ROOT r = $T[2,2] async-done(u), calls=same"},
    {HloOpcode::kBatchNormGrad,
     "v = $T[2] parameter(4) ROOT r = ($T[2,2], $T[2], $T[2]) "
     "batch-norm-grad(a, v, v, v, b), epsilon=0.5, feature_index=1"},
    {HloOpcode::kBatchNormInference,
     "v = $T[2] parameter(4) ROOT r = $T[2,2] batch-norm-inference(a, v, v, v, "
     "v), epsilon=0.5, feature_index=1"},
    {HloOpcode::kBatchNormTraining,
     "v = $T[2] parameter(4) ROOT r = ($T[2,2], $T[2], $T[2]) "
     "batch-norm-training(a, v, v), epsilon=0.5, feature_index=1"},
    {HloOpcode::kBitcast, "ROOT r = $T[4] bitcast(a)"},
    {HloOpcode::kBitcastConvert, "ROOT r = $U[2,2] bitcast-convert(a)"},
    {HloOpcode::kBroadcast, "ROOT r = $T[2,2] broadcast(s), dimensions={}"},
    {HloOpcode::kCall, "ROOT r = $T[2,2] call(a), to_apply=same"},
    {HloOpcode::kCholesky, "ROOT r = $T[2,2] cholesky(a), lower=true"},
    {HloOpcode::kClamp, "ROOT r = $T[2,2] clamp(s, a, s)"},
    {HloOpcode::kCollectiveBroadcast,
     "ROOT r = $T[2,2] collective-broadcast(a), replica_groups={{0}}"},
    {HloOpcode::kCollectivePermute,
     "ROOT r = $T[2,2] collective-permute(a), source_target_pairs={{0,0}}"},
    {HloOpcode::kCollectivePermuteStart,
     "g = ($T[2,2], $T[2,2]) collective-permute-start(a), "
     "source_target_pairs={{0,0}} ROOT r = $T[2,2] collective-permute-done(g)"},
    {HloOpcode::kCompare, "ROOT r = pred[2,2] compare(a, b), direction=$GE"},
    {HloOpcode::kComplex, "ROOT r = complex(a, b)"},
    {HloOpcode::kConcatenate,
     "ROOT r = $T[4,2] concatenate(a, b), dimensions={0}"},
    {HloOpcode::kConditional,
     "ROOT r = $T[2,2] conditional(i, a, b), branch_computations={same, same}"},
    {HloOpcode::kConstant, "ROOT r = $T[2] constant({1, 1})"},
    {HloOpcode::kConvert,
     "c = f32[2,2] convert(a) d = s8[2,2] convert(a) e = bf16[2,2] convert(a) "
     "f = u64[2,2] convert(a) g = pred[2,2] convert(a) "
     "ROOT r = (f32[2,2], s8[2,2], bf16[2,2], u64[2,2], pred[2,2]) "
     "tuple(c, d, e, f, g)"},
    {HloOpcode::kConvolution,
     "x = $T[1,4,1] reshape(a) w = $T[4,1,1] reshape(b) "
     "ROOT r = $T[1,4,1] convolution(x, w), window={size=4 pad=1_2}, "
     "dim_labels=b0f_0io->b0f"},
    {HloOpcode::kCopy, "ROOT r = $T[2,2] copy(a)"},
    {HloOpcode::kCopyStart,
     "c = ($T[2,2], $T[2,2], u32[]) copy-start(a) "
     "ROOT r = $T[2,2] copy-done(c)"},
    {HloOpcode::kCustomCall,
     "ROOT r = $T[2,2] custom-call(a), custom_call_target=\"Sharding\""},
    {HloOpcode::kDomain,
     "ROOT r = $T[2,2] domain(a), domain={kind=\"sharding\", "
     "entry={replicated}, exit={replicated}}"},
    {HloOpcode::kDot,
     "ROOT r = $T[2,2] dot(a, b), lhs_contracting_dims={1}, "
     "rhs_contracting_dims={0}"},
    {HloOpcode::kDynamicReshape,
     "j = s32[] constant(4) ROOT r = $T[<=4] dynamic-reshape(a, j)"},
    {HloOpcode::kDynamicSlice,
     "ROOT r = $T[1,2] dynamic-slice(a, i, i), dynamic_slice_sizes={1,2}"},
    {HloOpcode::kDynamicUpdateSlice,
     "u = $T[1,1] reshape(s) "
     "ROOT r = $T[2,2] dynamic-update-slice(a, u, i, i)"},
    {HloOpcode::kFft, "ROOT r = fft(a), fft_type=FFT, fft_length={2}"},
    {HloOpcode::kFusion, "ROOT r = $T[2,2] fusion(a), kind=kLoop, calls=same"},
    {HloOpcode::kGather,
     "j = s32[3] constant({0, 1, 5}) ROOT r = $T[3,2] gather(a, j), "
     "offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
     "index_vector_dim=1, slice_sizes={1,2}"},
    {HloOpcode::kGetDimensionSize,
     "ROOT r = s32[] get-dimension-size(a), dimensions={0}"},
    {HloOpcode::kGetTupleElement,
     "t = ($T[2,2], $T[2,2]) tuple(a, b) "
     "ROOT r = $T[2,2] get-tuple-element(t), index=1"},
    {HloOpcode::kInfeed,
     "t = token[] after-all() f = ($T[2,2], token[]) infeed(t) "
     "ROOT r = $T[2,2] get-tuple-element(f), index=0"},
    {HloOpcode::kIota, "ROOT r = $T[2,2] iota(), iota_dimension=1"},
    {HloOpcode::kMap,
     "ROOT r = $T[2,2] map(a, b), dimensions={0,1}, "
     "to_apply=sum"},
    {HloOpcode::kOptimizationBarrier, "ROOT r = $T[2,2] opt-barrier(a)"},
    {HloOpcode::kOutfeed,
     "t = token[] after-all() "
     "f = token[] outfeed(a, t), outfeed_shape=$T[2,2] "
     "ROOT r = $T[2,2] add-dependency(b, f)"},
    {HloOpcode::kPad, "ROOT r = $T[3,3] pad(a, s), padding=1_0x0_0_1"},
    {HloOpcode::kParameter, "ROOT r = $T[2,2] parameter(4)"},
    {HloOpcode::kPartitionId,
     "p = u32[] partition-id() q = $T[] convert(p) ROOT r = ($T[]) tuple(q)"},
    {HloOpcode::kRaggedAllToAll,
     "o = s64[1] constant({0}) z = s64[1] constant({1}) "
     "ROOT r = $T[2,2] ragged-all-to-all(a, b, o, z, o, z), "
     "replica_groups={{0}}"},
    {HloOpcode::kRaggedDot,
     "w = $T[1,2,2] reshape(b) g = s32[1] constant({2}) "
     "ROOT r = $T[2,2] ragged-dot(a, w, g), lhs_contracting_dims={1}, "
     "rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}"},
    {HloOpcode::kReduce,
     "ROOT r = $T[2] reduce(a, s), dimensions={0}, to_apply=sum"},
    {HloOpcode::kReducePrecision,
     "ROOT r = $T[2,2] reduce-precision(a), exponent_bits=5, mantissa_bits=2"},
    {HloOpcode::kReduceScatter,
     "ROOT r = $T[2,2] reduce-scatter(a), dimensions={0}, to_apply=sum, "
     "replica_groups={{0}}"},
    {HloOpcode::kReduceWindow,
     "ROOT r = $T[2,2] reduce-window(a, s), window={size=2x1 pad=0_1x0_0}, "
     "to_apply=sum"},
    {HloOpcode::kReplicaId,
     "p = u32[] replica-id() q = $T[] convert(p) ROOT r = ($T[]) tuple(q)"},
    {HloOpcode::kReshape, "ROOT r = $T[4] reshape(a)"},
    {HloOpcode::kReverse, "ROOT r = $T[2,2] reverse(a), dimensions={0}"},
    {HloOpcode::kRng, "ROOT r = $T[2] rng(s, s), distribution=rng_uniform"},
    {HloOpcode::kRngBitGenerator,
     "k = u64[2] parameter(4) ROOT r = (u64[2], $T[5]) rng-bit-generator(k), "
     "algorithm=rng_three_fry"},
    {HloOpcode::kRngGetAndUpdateState,
     "g = u64[2] rng-get-and-update-state(), delta=1 "
     "ROOT r = (u64[2], $T[2,2]) tuple(g, a)"},
    {HloOpcode::kScaledDot,
     "q = f8e8m0fnu[2,1] constant({{1}, {2}}) "
     "w = f8e8m0fnu[1,2] constant({{1, 2}}) "
     "ROOT r = f32[2,2] scaled-dot(a, b, q, w), lhs_contracting_dims={1}, "
     "rhs_contracting_dims={0}"},
    {HloOpcode::kScan,
     "v = $T[2] reshape($T[2] parameter(4)) ROOT r = ($T[2,2], $T[2]) "
     "scan(a, v), dimensions={0}, num_carries=1, to_apply=step"},
    {HloOpcode::kScatter,
     "j = s32[1,1] constant({{1}}) u = $T[1,2] slice(b), slice={[0:1], [0:2]} "
     "ROOT r = $T[2,2] scatter(a, j, u), update_window_dims={1}, "
     "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
     "index_vector_dim=1, to_apply=sum"},
    {HloOpcode::kSelect,
     "p = pred[2,2] parameter(4) ROOT r = $T[2,2] select(p, a, b)"},
    {HloOpcode::kSelectAndScatter,
     "c = $T[1,2] slice(b), slice={[0:1], [0:2]} "
     "ROOT r = $T[2,2] select-and-scatter(a, c, s), "
     "window={size=2x1 stride=2x1}, select=ge, scatter=sum"},
    {HloOpcode::kSend,
     "t = token[] after-all() "
     "f = ($T[2,2], u32[], token[]) send(a, t), channel_id=1 "
     "d = token[] send-done(f), channel_id=1 "
     "g = ($T[2,2], u32[], token[]) recv(t), channel_id=1 "
     "e = ($T[2,2], token[]) recv-done(g), channel_id=1 "
     "ROOT r = $T[2,2] get-tuple-element(e), index=0"},
    {HloOpcode::kSetDimensionSize,
     "ROOT r = $T[<=2,2] set-dimension-size(a, i), dimensions={0}"},
    {HloOpcode::kSlice, "ROOT r = $T[1,2] slice(a), slice={[1:2], [0:2]}"},
    {HloOpcode::kSort, "ROOT r = $T[2,2] sort(a), dimensions={0}, to_apply=ge"},
    {HloOpcode::kStochasticConvert,
     "v = $U[2,2] parameter(4) ROOT r = s8[2,2] stochastic-convert(a, v)"},
    {HloOpcode::kTopK,
     "ROOT r = ($T[2,1], s32[2,1]) topk(a), k=1, "
     "largest=true"},
    {HloOpcode::kTranspose, "ROOT r = $T[2,2] transpose(a), dimensions={1,0}"},
    {HloOpcode::kTriangularSolve,
     "ROOT r = $T[2,2] triangular-solve(a, b), left_side=true, lower=true, "
     "unit_diagonal=false, transpose_a=NO_TRANSPOSE"},
    {HloOpcode::kTuple, "ROOT r = ($T[2,2], $T[2,2]) tuple(a, b)"},
    {HloOpcode::kWhile,
     "ROOT r = $T[2,2] while(a), condition=never, body=same"},
};

// Opcodes that are part of another one's case.
const std::map<HloOpcode, HloOpcode>& PartOf() {
  static const auto* kPartOf = new std::map<HloOpcode, HloOpcode>{
      {HloOpcode::kAllGatherDone, HloOpcode::kAllGatherStart},
      {HloOpcode::kAllReduceDone, HloOpcode::kAllReduceStart},
      {HloOpcode::kAsyncDone, HloOpcode::kAsyncStart},
      {HloOpcode::kCollectivePermuteDone, HloOpcode::kCollectivePermuteStart},
      {HloOpcode::kCopyDone, HloOpcode::kCopyStart},
      {HloOpcode::kRecv, HloOpcode::kSend},
      {HloOpcode::kRecvDone, HloOpcode::kSend},
      {HloOpcode::kSendDone, HloOpcode::kSend},
  };
  return *kPartOf;
}

// Valid by the rules for shapes, without a meaning all the same.
bool IsGap(HloOpcode opcode, PrimitiveType type) {
  switch (opcode) {
    case HloOpcode::kMaximum:
    case HloOpcode::kMinimum:
    case HloOpcode::kRemainder:
    case HloOpcode::kTopK:
      // Complex numbers have no order, and no part that is left over.
      return primitive_util::IsComplexType(type);
    case HloOpcode::kRngBitGenerator:
      // Bits are integers.
      return !primitive_util::IsIntegralType(type);
    default:
      return false;
  }
}

// Element-wise opcodes without attributes need no case of their own.
std::string TextFor(HloOpcode opcode, PrimitiveType type) {
  if (opcode == HloOpcode::kConstant && type == S1) {
    return "ROOT r = s1[2] constant({0, -1})";
  }
  if (opcode == HloOpcode::kConvert && primitive_util::IsComplexType(type)) {
    return "c = c64[2,2] convert(a) d = c128[2,2] convert(a) "
           "ROOT r = (c64[2,2], c128[2,2]) tuple(c, d)";
  }
  for (const Case& c : kCases) {
    if (c.opcode == opcode) return c.text;
  }
  const auto arity = HloOpcodeArity(opcode);
  if (arity == 1)
    return absl::StrCat("ROOT r = ", HloOpcodeString(opcode), "(a)");
  if (arity == 2) {
    return absl::StrCat("ROOT r = ", HloOpcodeString(opcode), "(a, b)");
  }
  return "";
}

std::string ModuleText(absl::string_view entry, PrimitiveType type) {
  const std::string name = primitive_util::LowercasePrimitiveTypeName(type);
  const PrimitiveType bits = primitive_util::UnsignedIntegralTypeForBitWidth(
      primitive_util::BitWidth(type));
  std::string text = "HloModule m\n";
  for (const auto& [callee, body] : kComputations) {
    if (absl::StrContains(entry, callee)) {
      absl::StrAppend(&text, callee, " ", body, "\n");
    }
  }
  absl::StrAppend(&text,
                  "ENTRY e { a = $T[2,2] parameter(0) b = $T[2,2] parameter(1) "
                  "s = $T[] parameter(2) i = s32[] parameter(3) ",
                  entry, " }");
  return absl::StrReplaceAll(
      text, {{"$T", name},
             {"$U", bits == PRIMITIVE_TYPE_INVALID
                        ? name
                        : primitive_util::LowercasePrimitiveTypeName(bits)},
             {"$ADD", type == PRED ? "or" : "add"},
             {"$GE", primitive_util::IsComplexType(type) ? "EQ" : "GE"}});
}

// 'x': evaluated, '.': no valid HLO, '!': valid, and not evaluated.
char Evaluate(HloOpcode opcode, PrimitiveType type, std::string* why) {
  auto module =
      ParseAndReturnUnverifiedModule(ModuleText(TextFor(opcode, type), type));
  if (!module.ok()) {
    *why = std::string(module.status().message());
    return '.';
  }
  absl::Status valid = VerifyHloModule(module->get(), HloVerifierOpts());
  if (!valid.ok()) {
    *why = std::string(valid.message());
    return '.';
  }
  auto inputs = GenerateInputs(**module);
  if (!inputs.ok()) {
    *why = std::string(inputs.status().message());
    return '!';
  }
  std::vector<const Literal*> arguments;
  for (const Literal& input : *inputs) arguments.push_back(&input);
  LockstepEvaluator evaluator(**module);
  // For infeed.
  if (evaluator.PushInfeed(0, (*inputs)[0]).ok()) {
    auto result = evaluator.Run({arguments});
    if (result.ok()) return 'x';
    *why = std::string(result.status().message());
  }
  return '!';
}

TEST(CoverageTest, OpcodesByTypes) {
  std::vector<PrimitiveType> types;
  for (int i = PrimitiveType_MIN; i <= PrimitiveType_MAX; ++i) {
    const auto type = static_cast<PrimitiveType>(i);
    if (PrimitiveType_IsValid(i) && primitive_util::IsArrayType(type)) {
      types.push_back(type);
    }
  }
  std::string table = "x: evaluated, .: no valid HLO, !: gap\n";
  for (size_t i = 0; i < types.size(); ++i) {
    absl::StrAppend(&table, i % 8 == 0 ? "\n" : " ", i, "=",
                    primitive_util::LowercasePrimitiveTypeName(types[i]));
  }
  table += "\n\n";
  int64_t evaluated = 0;
  for (uint32_t i = 0; i < HloOpcodeCount(); ++i) {
    const auto opcode = static_cast<HloOpcode>(i);
    if (PartOf().count(opcode) > 0) continue;
    ASSERT_FALSE(TextFor(opcode, F32).empty())
        << HloOpcodeString(opcode) << " has no case";
    std::string row, last_why;
    for (PrimitiveType type : types) {
      std::string why;
      const char mark = Evaluate(opcode, type, &why);
      row.push_back(mark);
      evaluated += mark == 'x';
      last_why = why;
      EXPECT_TRUE(mark != '!' || IsGap(opcode, type))
          << HloOpcodeString(opcode) << " of "
          << primitive_util::LowercasePrimitiveTypeName(type) << ": " << why;
    }
    EXPECT_NE(row.find('x'), std::string::npos)
        << HloOpcodeString(opcode) << " on no type at all: " << last_why;
    absl::StrAppend(&table, row, " ", HloOpcodeString(opcode), "\n");
  }
  std::cout << table << evaluated << " pairs evaluated\n";
  EXPECT_GT(evaluated, 3100);
}

}  // namespace
}  // namespace xla
