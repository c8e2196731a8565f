#include "xla/hlo/pipeline/all_passes.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "xla/backends/gpu/transforms/gemm/convolution_dots.h"
#include "xla/backends/gpu/transforms/gemm/cudnn_fused_conv_rewriter.h"
#include "xla/backends/gpu/transforms/gemm/dynamic_slice_fusion_rewriter.h"
#include "xla/backends/gpu/transforms/gemm/gemm_fusion.h"
#include "xla/backends/gpu/transforms/gemm/splitk_rewriter.h"
#include "xla/backends/gpu/transforms/horizontal/horizontal_fusion.h"
#include "xla/backends/gpu/transforms/layouts/bitcast_reshapes.h"
#include "xla/backends/gpu/transforms/layouts/copy_fusion.h"
#include "xla/backends/gpu/transforms/layouts/copy_remover.h"
#include "xla/backends/gpu/transforms/layouts/dot_dimension_merger.h"
#include "xla/backends/gpu/transforms/layouts/dot_layouts.h"
#include "xla/backends/gpu/transforms/layouts/dot_update_layouts.h"
#include "xla/backends/gpu/transforms/layouts/transpose_layouts.h"
#include "xla/backends/gpu/transforms/mof/multi_output_fusion.h"
#include "xla/backends/gpu/transforms/priority_fusion/kernel_replacement_passes.h"
#include "xla/backends/gpu/transforms/priority_fusion/priority_fusion.h"
#include "xla/backends/gpu/transforms/reductions/reduction_degenerate_dim_remover.h"
#include "xla/backends/gpu/transforms/reductions/reduction_dimension_grouper.h"
#include "xla/backends/gpu/transforms/reductions/reduction_epilogue_flattener.h"
#include "xla/backends/gpu/transforms/reductions/reduction_layout_normalizer.h"
#include "xla/backends/gpu/transforms/reductions/reduction_splitter.h"
#include "xla/backends/gpu/transforms/reductions/tree_reduction_rewriter.h"
#include "xla/backends/gpu/transforms/smem/shared_memory_planning.h"
#include "xla/backends/gpu/transforms/softmax/softmax_rewriter_triton.h"
#include "xla/backends/gpu/transforms/sorts/sort_iota_fusion.h"
#include "xla/hlo/pass/verifier_pass.h"
#include "xla/hlo/transforms/collectives/async_collective_creator.h"
#include "xla/hlo/transforms/collectives/canonicalize_all_gather_for_cse.h"
#include "xla/hlo/transforms/collectives/collective_combiner.h"
#include "xla/hlo/transforms/collectives/collective_dimension_major.h"
#include "xla/hlo/transforms/collectives/collective_permute_motion.h"
#include "xla/hlo/transforms/collectives/schedule_aware_collective_ops_cse.h"
#include "xla/hlo/transforms/collectives/sharding_remover.h"
#include "xla/hlo/transforms/collectives/while_loop_all_reduce_code_motion.h"
#include "xla/hlo/transforms/collectives/whole_graph_manual_pass.h"
#include "xla/hlo/transforms/control_flow/conditional_simplifier.h"
#include "xla/hlo/transforms/control_flow/while_loop_constant_sinking.h"
#include "xla/hlo/transforms/control_flow/while_loop_invariant_code_motion.h"
#include "xla/hlo/transforms/control_flow/while_loop_simplifier.h"
#include "xla/hlo/transforms/copies/copy_insertion.h"
#include "xla/hlo/transforms/fusion/cpu_instruction_fusion.h"
#include "xla/hlo/transforms/fusion/instruction_fusion.h"
#include "xla/hlo/transforms/fusion/multi_output_fusion.h"
#include "xla/hlo/transforms/indexing/gather_simplifier.h"
#include "xla/hlo/transforms/indexing/scatter_expander.h"
#include "xla/hlo/transforms/indexing/scatter_simplifier.h"
#include "xla/hlo/transforms/indexing/select_and_scatter_expander.h"
#include "xla/hlo/transforms/loops/rewrite_passes.h"
#include "xla/hlo/transforms/memory/assign_offsets.h"
#include "xla/hlo/transforms/memory/hlo_memory_scheduler.h"
#include "xla/hlo/transforms/memory/rematerialization_pass.h"
#include "xla/hlo/transforms/operations/conv_padding_legalization.h"
#include "xla/hlo/transforms/operations/convolution_pad_folder.h"
#include "xla/hlo/transforms/operations/dot_merger.h"
#include "xla/hlo/transforms/operations/dot_strength_reduction.h"
#include "xla/hlo/transforms/operations/float_normalization.h"
#include "xla/hlo/transforms/operations/hlo_element_type_converter.h"
#include "xla/hlo/transforms/operations/reduce_window_rewriter.h"
#include "xla/hlo/transforms/operations/reshape_mover.h"
#include "xla/hlo/transforms/operations/rng_expander.h"
#include "xla/hlo/transforms/operations/slice_sinker.h"
#include "xla/hlo/transforms/operations/sort_simplifier.h"
#include "xla/hlo/transforms/operations/stochastic_convert_decomposer.h"
#include "xla/hlo/transforms/operations/variadic_op_splitter.h"
#include "xla/hlo/transforms/sharding_propagation/factor_propagation.h"
#include "xla/hlo/transforms/sharding_propagation/sharding_propagation.h"
#include "xla/hlo/transforms/sharding_propagation/shardy_import.h"
#include "xla/hlo/transforms/simplifiers/batchnorm_expander.h"
#include "xla/hlo/transforms/simplifiers/call_inliner.h"
#include "xla/hlo/transforms/simplifiers/canonicalizer.h"
#include "xla/hlo/transforms/simplifiers/flatten_call_graph.h"
#include "xla/hlo/transforms/simplifiers/hlo_constant_folding.h"
#include "xla/hlo/transforms/simplifiers/hlo_constant_splitter.h"
#include "xla/hlo/transforms/simplifiers/hlo_cse.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/hlo/transforms/simplifiers/hlo_module_dce.h"
#include "xla/hlo/transforms/simplifiers/tuple_simplifier.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_prepare.h"
#include "xla/hlo/transforms/spmd/stateful_rng_spmd_partitioner.h"

namespace xla {

PassRegistry AllPasses() {
  PassRegistry registry;
#define PASS(name, pass, options, help) \
  registry.Register<pass, options>(name, help);
#include "xla/hlo/pipeline/all_passes.def"
#undef PASS
  return registry;
}

std::string PassListToText(const PassRegistry& registry) {
  size_t width = 0;
  for (const auto& [name, entry] : registry.entries()) {
    width = std::max(width, name.size());
  }
  std::string out;
  for (const auto& [name, entry] : registry.entries()) {
    absl::StrAppendFormat(&out, "%-*s  %s\n", width, name, entry.help);
    for (const PassOptionInfo& option : entry.options) {
      absl::StrAppendFormat(&out, "%-*s    %s=%s  %s\n", width, "", option.name,
                            option.default_value, option.help);
    }
  }
  return out;
}

}  // namespace xla
