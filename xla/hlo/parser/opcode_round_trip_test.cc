// Every opcode and every attribute, as text that prints the same again.

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/parser/attribute_table.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla {
namespace {

// What the cases refer to.
constexpr absl::string_view kPrelude = R"(HloModule m

%add (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %sum = f32[] add(%x, %y)
}

%less (x: f32[], y: f32[]) -> pred[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %lt = pred[] compare(%x, %y), direction=LT
}

%step (x: f32[], carry: f32[]) -> (f32[], f32[]) {
  %x = f32[] parameter(0)
  %carry = f32[] parameter(1)
  %sum = f32[] add(%x, %carry)
  ROOT %both = (f32[], f32[]) tuple(%sum, %sum)
}

%keep_going (asked: (f32[4,8], f32[])) -> pred[] {
  %asked = (f32[4,8]{1,0}, f32[]) parameter(0)
  ROOT %no = pred[] constant(false)
}

%body (kept: (f32[4,8], f32[])) -> (f32[4,8], f32[]) {
  ROOT %kept = (f32[4,8]{1,0}, f32[]) parameter(0)
}

%negated (x: f32[4,8]) -> f32[4,8] {
  %x = f32[4,8]{1,0} parameter(0)
  ROOT %n = f32[4,8]{1,0} negate(%x)
}

%fused (x: f32[4,8], y: f32[4,8]) -> f32[4,8] {
  %x = f32[4,8]{1,0} parameter(0)
  %y = f32[4,8]{1,0} parameter(1)
  ROOT %sum = f32[4,8]{1,0} add(%x, %y)
}

%async_negated (x: f32[4,8]) -> f32[4,8] {
  %x = f32[4,8]{1,0} parameter(0)
  ROOT %n = f32[4,8]{1,0} negate(%x)
}, execution_thread="side"

ENTRY %main {
  %p = f32[4,8]{1,0} parameter(0)
  %q = f32[4,8]{1,0} parameter(1)
  %v = f32[8]{0} parameter(2)
  %s = f32[] parameter(3)
  %i = s32[] parameter(4)
  %j = s32[4,8]{1,0} parameter(5)
  %b = pred[4,8]{1,0} parameter(6)
  %c = c64[4,8]{1,0} parameter(7)
  %m = f32[8,16]{1,0} parameter(8)
  %t = token[] parameter(9)
  %yes = pred[] parameter(10)
  %sq = f32[8,8]{1,0} parameter(11)
  %img = f32[2,14,14,3]{3,2,1,0} parameter(12)
  %ker = f32[3,3,3,16]{3,2,1,0} parameter(13)
  %idx = s32[2,1]{1,0} parameter(14)
  %state = u64[2]{0} parameter(15)
  %tup = (f32[4,8]{1,0}, f32[]) parameter(16)
  %f = f32[4]{0} parameter(17)
  %scale = f8e8m0fnu[4,1]{1,0} parameter(18)
  %sizes = s64[2]{0} parameter(19)
  %groups = f32[2,8,16]{2,1,0} parameter(20)
  %u = u32[4,8]{1,0} parameter(21)
  %offsets = s32[2]{0} parameter(22)
)";

// Lines that stand after the prelude; the last is the root and prints as it is.
const std::vector<absl::string_view>& Cases() {
  static const auto* const cases = new std::vector<absl::string_view>{
      // Elementwise.
      "%r = f32[4,8]{1,0} abs(%p)",
      "%r = f32[4,8]{1,0} acos(%p)",
      "%r = f32[4,8]{1,0} acosh(%p)",
      "%r = f32[4,8]{1,0} asin(%p)",
      "%r = f32[4,8]{1,0} asinh(%p)",
      "%r = f32[4,8]{1,0} atanh(%p)",
      "%r = f32[4,8]{1,0} cbrt(%p), result_accuracy={mode=highest}",
      "%r = f32[4,8]{1,0} ceil(%p)",
      "%r = s32[4,8]{1,0} count-leading-zeros(%j)",
      "%r = f32[4,8]{1,0} cosine(%p)",
      "%r = f32[4,8]{1,0} cosh(%p)",
      "%r = f32[4,8]{1,0} erf(%p)",
      "%r = f32[4,8]{1,0} exponential(%p), "
      "result_accuracy={tolerance={atol=0.5,rtol=0.25,ulps=2}}",
      "%r = f32[4,8]{1,0} exponential-minus-one(%p)",
      "%r = f32[4,8]{1,0} floor(%p)",
      "%r = f32[4,8]{1,0} imag(%c)",
      "%r = pred[4,8]{1,0} is-finite(%p)",
      "%r = f32[4,8]{1,0} log(%p)",
      "%r = f32[4,8]{1,0} log-plus-one(%p)",
      "%r = f32[4,8]{1,0} logistic(%p)",
      "%r = f32[4,8]{1,0} negate(%p)",
      "%r = pred[4,8]{1,0} not(%b)",
      "%r = s32[4,8]{1,0} popcnt(%j)",
      "%r = f32[4,8]{1,0} real(%c)",
      "%r = f32[4,8]{1,0} round-nearest-afz(%p)",
      "%r = f32[4,8]{1,0} round-nearest-even(%p)",
      "%r = f32[4,8]{1,0} rsqrt(%p)",
      "%r = f32[4,8]{1,0} sign(%p)",
      "%r = f32[4,8]{1,0} sine(%p)",
      "%r = f32[4,8]{1,0} sinh(%p)",
      "%r = f32[4,8]{1,0} sqrt(%p)",
      "%r = f32[4,8]{1,0} tan(%p)",
      "%r = f32[4,8]{1,0} tanh(%p)",
      "%r = f32[4,8]{1,0} copy(%p)",
      "%r = bf16[4,8]{1,0} convert(%p)",
      "%r = s32[4,8]{1,0} bitcast-convert(%p)",
      "%r = f32[4,8]{1,0} reduce-precision(%p), exponent_bits=8, "
      "mantissa_bits=7",
      "%r = s8[4,8]{1,0} stochastic-convert(%p, %u)",
      "%r = f32[4,8]{1,0} add(%p, %q)",
      "%r = pred[4,8]{1,0} and(%b, %b)",
      "%r = f32[4,8]{1,0} atan2(%p, %q)",
      "%r = c64[4,8]{1,0} complex(%p, %q)",
      "%r = f32[4,8]{1,0} divide(%p, %q)",
      "%r = f32[4,8]{1,0} maximum(%p, %q)",
      "%r = f32[4,8]{1,0} minimum(%p, %q)",
      "%r = u32[4,8]{1,0} mulhi(%u, %u)",
      "%r = f32[4,8]{1,0} multiply(%p, %q)",
      "%r = pred[4,8]{1,0} or(%b, %b)",
      "%r = f32[4,8]{1,0} power(%p, %q)",
      "%r = f32[4,8]{1,0} remainder(%p, %q)",
      "%r = s32[4,8]{1,0} shift-left(%j, %j)",
      "%r = s32[4,8]{1,0} shift-right-arithmetic(%j, %j)",
      "%r = s32[4,8]{1,0} shift-right-logical(%j, %j)",
      "%r = f32[4,8]{1,0} subtract(%p, %q)",
      "%r = pred[4,8]{1,0} xor(%b, %b)",
      "%r = f32[4,8]{1,0} clamp(%s, %p, %s)",
      "%r = f32[4,8]{1,0} select(%b, %p, %q)",
      "%r = pred[4,8]{1,0} compare(%p, %q), direction=GE",
      "%r = pred[4,8]{1,0} compare(%p, %q), direction=NE, type=TOTALORDER",
      "%r = pred[4,8]{1,0} compare(%j, %j), direction=EQ",
      // Sources.
      "%r = f32[] constant(42)",
      "%r = f32[2,2]{1,0} constant({ { 1, 2 }, { 3, 4 } })",
      "%r = f32[1000]{0} constant({...})",
      "%r = s32[4,8]{1,0} iota(), iota_dimension=1",
      "%r = u32[] partition-id()",
      "%r = u32[] replica-id()",
      "%r = f32[2]{0} parameter(23), parameter_replication={true}",
      "%r = f32[4,8]{1,0} rng(%s, %s), distribution=rng_uniform",
      "%r = (u64[2]{0}, u32[4]{0}) rng-bit-generator(%state), "
      "algorithm=rng_three_fry",
      "%r = u64[2]{0} rng-get-and-update-state(), delta=4096",
      // Data movement.
      "%r = f32[8,4]{0,1} bitcast(%p)",
      "%r = f32[4,8]{1,0} broadcast(%v), dimensions={1}",
      "%r = f32[4,8]{1,0} broadcast(%s), dimensions={}",
      "%r = f32[8,8]{1,0} concatenate(%p, %q), dimensions={0}",
      "%r = f32[<=4,8]{1,0} dynamic-reshape(%p, %i, %i)",
      "%r = f32[1,8]{1,0} dynamic-slice(%p, %i, %i), "
      "dynamic_slice_sizes={1,8}",
      "%r = f32[4,8]{1,0} dynamic-update-slice(%p, %q, %i, %i)",
      "%r = f32[2,8]{1,0} gather(%p, %idx), offset_dims={1}, "
      "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
      "slice_sizes={1,8}, indices_are_sorted=true",
      "%r = f32[4,2]{1,0} gather(%p, %j), offset_dims={}, "
      "collapsed_slice_dims={1}, start_index_map={1}, "
      "operand_batching_dims={0}, start_indices_batching_dims={0}, "
      "index_vector_dim=2, slice_sizes={1,1}",
      "%r = s32[] get-dimension-size(%p), dimensions={1}",
      "%r = f32[4,12]{1,0} pad(%p, %s), padding=0_0x1_3",
      "%r = f32[4,17]{1,0} pad(%p, %s), padding=0_0_0x1_1_1",
      "%r = f32[32]{0} reshape(%p)",
      "%r = f32[<=4,8]{1,0} reshape(%p), inferred_dimension=0",
      "%r = f32[4,8]{1,0} reverse(%p), dimensions={0,1}",
      "%r = f32[4,8]{1,0} scatter(%p, %idx, %q), update_window_dims={1}, "
      "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
      "index_vector_dim=1, indices_are_sorted=true, unique_indices=true, "
      "to_apply=%add",
      "%r = f32[4,8]{1,0} scatter(%p, %j, %q), update_window_dims={}, "
      "inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, "
      "input_batching_dims={0}, scatter_indices_batching_dims={0}, "
      "index_vector_dim=2, to_apply=%add",
      "%r = f32[<=4,8]{1,0} set-dimension-size(%p, %i), dimensions={0}",
      "%r = f32[2,4]{1,0} slice(%p), slice={[0:2], [1:5]}",
      "%r = f32[2,4]{1,0} slice(%p), slice={[0:4:2], [0:8:2]}",
      "%r = f32[8,4]{1,0} transpose(%p), dimensions={1,0}",
      "%r = (f32[4,8]{1,0}, f32[]) tuple(%p, %s)",
      "%r = () tuple()",
      "%r = f32[] get-tuple-element(%tup), index=1",
      // Kernels.
      "%r = f32[4,16]{1,0} dot(%p, %m), lhs_contracting_dims={1}, "
      "rhs_contracting_dims={0}",
      "%r = f32[4,8,8]{2,1,0} dot(%p, %q), lhs_batch_dims={0}, "
      "lhs_contracting_dims={}, rhs_batch_dims={0}, rhs_contracting_dims={}, "
      "operand_precision={highest,default}, algorithm=dot_bf16_bf16_f32",
      "%r = f32[4,16]{1,0} ragged-dot(%p, %groups, %sizes), "
      "lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
      "lhs_ragged_dims={0}, rhs_group_dims={0}",
      "%r = f32[4,4]{1,0} scaled-dot(%p, %q, %scale, %scale), "
      "lhs_contracting_dims={1}, rhs_contracting_dims={1}",
      "%r = f32[2,12,12,16]{3,2,1,0} convolution(%img, %ker), "
      "window={size=3x3}, dim_labels=b01f_01io->b01f",
      "%r = f32[2,12,12,16]{3,2,1,0} convolution(%img, %ker), "
      "window={size=3x3 stride=2x2 pad=5_5x5_5 lhs_dilate=1x2 rhs_dilate=2x1 "
      "rhs_reversal=1x1}, dim_labels=b01f_01io->b01f, feature_group_count=2, "
      "batch_group_count=2, operand_precision={high,high}, "
      "convolution_kind=wgrad, "
      "sparsity_config={lhs={sparsity=2x4 dimension=3 stride=1 idx=0} "
      "rhs={sparsity=1x2 dimension=0 stride=1 idx=2}}",
      "%r = f32[8]{0} reduce(%p, %s), dimensions={0}, to_apply=%add",
      "%r = (f32[8]{0}, f32[8]{0}) reduce(%p, %q, %s, %s), dimensions={0}, "
      "to_apply=%add",
      "%r = f32[4,4]{1,0} reduce-window(%p, %s), window={size=1x2 "
      "stride=1x2}, to_apply=%add",
      "%r = f32[4,8]{1,0} select-and-scatter(%p, %q, %s), "
      "window={size=1x2 stride=1x2}, select=%less, scatter=%add",
      "%r = (f32[4]{0}, f32[]) scan(%f, %s), dimensions={0}, "
      "num_carries=1, is_reverse=true, is_associative=true, to_apply=%step",
      "%r = f32[4,8]{1,0} sort(%p), dimensions={1}, is_stable=true, "
      "to_apply=%less",
      "%r = f32[4,8]{1,0} map(%p, %q), dimensions={0,1}, to_apply=%add",
      "%r = (f32[4,2]{1,0}, s32[4,2]{1,0}) topk(%p), k=2, largest=true, "
      "is_stable=true",
      "%r = c64[4,8]{1,0} fft(%c), fft_type=FFT, fft_length={8}",
      "%r = f32[8,8]{1,0} cholesky(%sq), lower=true",
      "%r = f32[8,8]{1,0} triangular-solve(%sq, %sq), left_side=true, "
      "lower=true, unit_diagonal=true, transpose_a=NO_TRANSPOSE",
      "%r = (f32[4,8]{1,0}, f32[8]{0}, f32[8]{0}) batch-norm-training(%p, %v, "
      "%v), epsilon=0.001, feature_index=1",
      "%r = f32[4,8]{1,0} batch-norm-inference(%p, %v, %v, %v, %v), "
      "epsilon=0.001, feature_index=1",
      "%r = (f32[4,8]{1,0}, f32[8]{0}, f32[8]{0}) batch-norm-grad(%p, %v, %v, "
      "%v, %q), epsilon=0.001, feature_index=1",
      // Calls.
      "%r = f32[4,8]{1,0} call(%p), to_apply=%negated",
      "%r = f32[4,8]{1,0} call(%p), to_apply=%negated, is_composite=true",
      "%r = (f32[4,8]{1,0}, f32[]) while(%tup), condition=%keep_going, "
      "body=%body",
      "%r = f32[4,8]{1,0} conditional(%yes, %p, %q), "
      "true_computation=%negated, false_computation=%negated",
      "%r = f32[4,8]{1,0} conditional(%i, %p, %q, %p), "
      "branch_computations={%negated, %negated, %negated}",
      "%r = f32[4,8]{1,0} fusion(%p, %q), kind=kLoop, calls=%fused",
      "%r = f32[4,8]{1,0} fusion(%p, %q), kind=kInput, calls=%fused",
      "%r = f32[4,8]{1,0} fusion(%p, %q), kind=kOutput, calls=%fused",
      "%r = f32[4,8]{1,0} fusion(%p, %q), kind=kCustom, "
      "output_to_operand_aliasing={{}: (0, {})}, calls=%fused, "
      "backend_config={\"fusion_config\": {kind: \"x\"}}",
      "%r = f32[4,8]{1,0} custom-call(%p), custom_call_target=\"Sharding\"",
      "%r = (f32[4,8]{1,0}, f32[]) custom-call(%p, %tup), "
      "window={size=2x2}, dim_labels=b01f_01io->b01f, feature_group_count=2, "
      "batch_group_count=3, operand_precision={highest,default}, "
      "padding_type=PADDING_SAME, custom_call_target=\"all\", "
      "operand_layout_constraints={f32[4,8]{1,0}, (f32[4,8]{0,1}, f32[])}, "
      "custom_call_has_side_effect=true, literal=s32[2]{0} {1, 2}, "
      "output_to_operand_aliasing={{0}: (1, {0})}, "
      "schedule=SCHEDULE_EARLIEST, api_version=API_VERSION_TYPED_FFI, "
      "called_computations={%add, %less}, backend_config=\"opaque\\n\"",
      "%r = f32[4,8]{1,0} opt-barrier(%p)",
      "%r = f32[4,8]{1,0} domain(%p), domain={kind=\"sharding\", "
      "entry={maximal device=1}, exit={}}",
      "%r = token[] after-all(%t, %t)",
      "%r = f32[4,8]{1,0} add-dependency(%p, %t)",
      // Asynchronous chains.
      "%r = ((f32[4,8]{1,0}), f32[4,8]{1,0}, u32[]) async-start(%p), "
      "async_execution_thread=\"side\", "
      "output_to_operand_aliasing={{}: (0, {})}, calls=%async_negated",
      "%st = ((f32[4,8]{1,0}), f32[4,8]{1,0}, u32[]) async-start(%p), "
      "async_execution_thread=\"side\", calls=%async_negated\n"
      "%r = ((f32[4,8]{1,0}), f32[4,8]{1,0}, u32[]) async-update(%st)",
      "%st = ((f32[4,8]{1,0}), f32[4,8]{1,0}, u32[]) async-start(%p), "
      "async_execution_thread=\"side\", calls=%async_negated\n"
      "%r = f32[4,8]{1,0} async-done(%st)",
      "%r = (f32[4,8]{1,0:S(5)}, f32[4,8]{1,0}, u32[]) copy-start(%p), "
      "cross_program_prefetch_index=3",
      "%st = (f32[4,8]{1,0}, f32[4,8]{1,0}, u32[]) copy-start(%p)\n"
      "%r = f32[4,8]{1,0} copy-done(%st)",
      // Collectives.
      "%r = f32[8,8]{1,0} all-gather(%p), channel_id=1, "
      "replica_groups={{0,1}}, constrain_layout=true, dimensions={0}, "
      "use_global_device_ids=true",
      "%r = (f32[4,8]{1,0}, f32[8,8]{1,0}) all-gather-start(%p), "
      "replica_groups=[1,2]<=[2], dimensions={0}",
      "%st = (f32[4,8]{1,0}, f32[8,8]{1,0}) all-gather-start(%p), "
      "replica_groups={}, dimensions={0}\n"
      "%r = f32[8,8]{1,0} all-gather-done(%st)",
      "%r = f32[4,8]{1,0} all-reduce(%p), channel_id=1, "
      "replica_groups=[2,2]<=[2,2]T(1,0), use_global_device_ids=true, "
      "to_apply=%add",
      "%r = f32[4,8]{1,0} all-reduce-start(%p), "
      "replica_groups=mesh['x'=2,'y'=2] {'y'}, to_apply=%add",
      "%st = f32[4,8]{1,0} all-reduce-start(%p), replica_groups={}, "
      "to_apply=%add\n"
      "%r = f32[4,8]{1,0} all-reduce-done(%st)",
      "%r = f32[2,8]{1,0} reduce-scatter(%p), replica_groups={{0,1}}, "
      "dimensions={0}, to_apply=%add",
      "%r = f32[4,8]{1,0} all-to-all(%p), replica_groups={{0,1}}, "
      "dimensions={0}",
      "%r = (f32[4,8]{1,0}, f32[4,8]{1,0}) all-to-all(%p, %q), "
      "replica_groups={{0,1}}",
      "%r = f32[4,8]{1,0} ragged-all-to-all(%p, %q, %offsets, %offsets, "
      "%offsets, /*index=5*/%offsets), replica_groups={{0,1}}",
      "%r = f32[4,8]{1,0} collective-broadcast(%p), replica_groups={{0,1}}, "
      "has_dynamic_root=false",
      "%r = f32[4,8]{1,0} collective-broadcast(%p, %i), "
      "replica_groups={{0,1}}, has_dynamic_root=true",
      "%r = f32[4,8]{1,0} collective-permute(%p), channel_id=2, "
      "source_target_pairs={{0,1},{1,0}}",
      "%r = f32[4,8]{1,0} collective-permute(%p, %q, %offsets, %offsets), "
      "source_target_pairs={{0,1}}, slice_sizes={{2,8}}",
      "%r = (f32[4,8]{1,0}, f32[4,8]{1,0}) collective-permute-start(%p), "
      "source_target_pairs={{0,1},{1,0}}",
      "%st = (f32[4,8]{1,0}, f32[4,8]{1,0}) collective-permute-start(%p), "
      "source_target_pairs={}\n"
      "%r = f32[4,8]{1,0} collective-permute-done(%st)",
      "%r = f32[4,8]{1,0} all-reduce(%p), channel_id=1, "
      "replica_groups={{0,1}}, to_apply=%add, mode=flattened_id",
      // Transfers.
      "%r = (f32[4,8]{1,0}, u32[], token[]) send(%p, %t), channel_id=15, "
      "is_host_transfer=true",
      "%st = (f32[4,8]{1,0}, u32[], token[]) send(%p, %t), channel_id=15\n"
      "%r = token[] send-done(%st), channel_id=15",
      "%r = (f32[4,8]{1,0}, u32[], token[]) recv(%t), channel_id=15",
      "%st = (f32[4,8]{1,0}, u32[], token[]) recv(%t)\n"
      "%r = (f32[4,8]{1,0}, token[]) recv-done(%st)",
      "%r = (f32[4]{0}, token[]) infeed(%t), infeed_config=\"a\\\"b\"",
      "%r = token[] outfeed(%p, %t), outfeed_shape=f32[4,8]{0,1}, "
      "outfeed_config=\"c\"",
      // What every instruction may have.
      "%r = f32[4,8]{1,0} negate(%p), sharding={devices=[2,1]<=[2]}",
      "%r = (f32[4,8]{1,0}, f32[]) tuple(%p, %s), "
      "sharding={{devices=[2,1]<=[2]}, {replicated}}",
      "%r = f32[4,8]{1,0} negate(%p), "
      "frontend_attributes={_group=\"1\",xla.sdy=\"<[{\\\"x\\\"}]>\"}",
      "%r = f32[4,8]{1,0} negate(%p), control-predecessors={%q, %v}",
      "%r = f32[4,8]{1,0} negate(%p), "
      "statistics={visualizing_index=1,stat-1=33,stat-2=44}",
      "%r = f32[4,8]{1,0} negate(%p), "
      "statistics={visualizing_index=0,\"a, b\"=33,\"\"=44}",
      "%r = f32[4,8]{1,0} negate(%p), origin={{\"old\" {1}}}",
      "%r = f32[4,8]{1,0} negate(%p), metadata={op_type=\"Neg\" op_name=\"n\" "
      "source_file=\"f.py\" source_line=1 source_end_line=2 source_column=3 "
      "source_end_column=4 profile_type={1} deduplicated_name=\"d\" "
      "scheduling_name=\"s\" stack_frame_id=5 metadata_payload=\"p\"}",
      "%r = f32[4,8]{1,0} negate(%p), backend_config={\"a\":[1,{}]}",
      "%r = f32[4,8]{1,0} negate(%p), backend_config=\"{unbalanced\"",
  };
  return *cases;
}

std::string ModuleText(absl::string_view lines) {
  const size_t last = lines.rfind('\n') + 1;
  return absl::StrCat(kPrelude, lines.substr(0, last), "ROOT ",
                      lines.substr(last), "\n}\n");
}

HloPrintOptions Options() {
  return HloPrintOptions().set_syntax_sugar_async_ops(false);
}

TEST(OpcodeRoundTripTest, EveryCasePrintsAsItWasWritten) {
  for (absl::string_view lines : Cases()) {
    absl::StatusOr<std::unique_ptr<HloModule>> module =
        ParseAndReturnUnverifiedModule(ModuleText(lines));
    if (!module.ok()) {
      ADD_FAILURE() << lines << "\n" << module.status().message();
      continue;
    }
    const HloInstruction* root =
        (*module)->entry_computation()->root_instruction();
    EXPECT_EQ(root->ToString(Options()), lines.substr(lines.rfind('\n') + 1));
  }
}

TEST(OpcodeRoundTripTest, ModulesAreFixedPointsWithAndWithoutPercentSigns) {
  for (absl::string_view lines : Cases()) {
    auto module = ParseAndReturnUnverifiedModule(ModuleText(lines));
    ASSERT_TRUE(module.ok()) << module.status().message();
    for (HloPrintOptions options :
         {Options(), HloPrintOptions::ShortParsable(),
          HloPrintOptions().set_print_operand_shape(true),
          HloPrintOptions().set_compact_gte(true)}) {
      const std::string text = (*module)->ToString(options);
      auto again = ParseAndReturnUnverifiedModule(text);
      ASSERT_TRUE(again.ok()) << again.status().message();
      EXPECT_EQ((*again)->ToString(options), text);
    }
  }
}

TEST(OpcodeRoundTripTest, EveryOpcodeIsHere) {
  std::set<HloOpcode> seen;
  for (absl::string_view lines : Cases()) {
    auto module = ParseAndReturnUnverifiedModule(ModuleText(lines));
    ASSERT_TRUE(module.ok()) << module.status().message();
    for (const HloInstruction* instruction :
         (*module)->entry_computation()->instructions()) {
      seen.insert(instruction->opcode());
    }
  }
  for (uint32_t i = 0; i < HloOpcodeCount(); ++i) {
    EXPECT_EQ(seen.count(static_cast<HloOpcode>(i)), 1)
        << HloOpcodeString(static_cast<HloOpcode>(i));
  }
}

TEST(OpcodeRoundTripTest, EveryAttributeIsHere) {
  for (int i = 0; i < hlo_text::kNumAttributes; ++i) {
    const std::string text = absl::StrCat(
        ", ", hlo_text::AttributeText(static_cast<hlo_text::Attribute>(i)),
        "=");
    // Read, and printed as type=.
    bool found =
        static_cast<hlo_text::Attribute>(i) == hlo_text::Attribute::kOrder;
    for (absl::string_view lines : Cases()) {
      found |= absl::StrContains(lines, text);
    }
    EXPECT_TRUE(found) << text;
  }
}

TEST(AttributeTableTest, TextsAndAttributesCorrespond) {
  for (int i = 0; i < hlo_text::kNumAttributes; ++i) {
    const auto attribute = static_cast<hlo_text::Attribute>(i);
    EXPECT_EQ(hlo_text::AttributeFromText(hlo_text::AttributeText(attribute)),
              attribute);
  }
  EXPECT_FALSE(hlo_text::AttributeFromText("dimension").has_value());
  EXPECT_FALSE(hlo_text::AttributeFromText("").has_value());
}

TEST(AttributeTableTest, RequiredAttributesAreAllowed) {
  for (uint32_t i = 0; i < HloOpcodeCount(); ++i) {
    const hlo_text::AttributeRules& rules =
        hlo_text::RulesFor(static_cast<HloOpcode>(i));
    EXPECT_FALSE(rules.required.FirstMissingIn(rules.allowed).has_value());
    EXPECT_TRUE(rules.allowed.Has(hlo_text::Attribute::kMetadata));
  }
}

}  // namespace
}  // namespace xla
