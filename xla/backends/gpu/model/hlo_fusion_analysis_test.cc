#include "xla/backends/gpu/model/hlo_fusion_analysis.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/model/fusion_hero.h"
#include "xla/backends/gpu/model/fusion_test_util.h"
#include "xla/backends/gpu/model/reduction_utils.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/analysis/gpu_alias_info.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/utils/hlo_traversal.h"

namespace xla {
namespace gpu {
namespace {

struct ReduceCase {
  const char* operand;
  const char* result;
  const char* dimensions;
  // Empty: not contiguous.
  const char* description;
  bool unnested;
  bool race_free;
};

std::string ReduceModule(const ReduceCase& c) {
  return absl::StrCat(
      "ENTRY e { p = ", c.operand,
      " parameter(0) z = f32[] parameter(1) ROOT r = ", c.result,
      " reduce(p, z), dimensions={", c.dimensions, "}, to_apply=sum }");
}

TEST(HloFusionAnalysisTest, ReductionDimensions) {
  const ReduceCase cases[] = {
      {"f32[128,512,28,28]", "f32[128,512]", "2,3", "row [1,65536,784]", true,
       true},
      {"f32[8,64,32]", "f32[64]", "0,2", "row [8,64,32]", true, true},
      {"f32[9,64,32]", "f32[64]", "0,2", "row [9,64,32]", true, false},
      {"f32[64,16]", "f32[64]", "1", "row [1,64,16]", true, true},
      {"f32[64,24]", "f32[64]", "1", "row [1,64,24]", false, true},
      {"f32[2,16384]", "f32[2]", "1", "row [1,2,16384]", true, true},
      {"f32[2,16385]", "f32[2]", "1", "row [1,2,16385]", true, false},
      {"f32[100]", "f32[]", "0", "row [1,1,100]", true, true},
      {"f32[64,64]", "f32[64]", "0", "column [1,64,64]", true, true},
      {"f32[31,64]", "f32[64]", "0", "column [1,31,64]", false, true},
      {"f32[32,32]", "f32[32]", "0", "column [1,32,32]", true, true},
      {"f32[32,31]", "f32[31]", "0", "column [1,32,31]", false, true},
      {"f32[127,7]", "f32[7]", "0", "column [1,127,7]", false, true},
      {"f32[128,7]", "f32[7]", "0", "column [1,128,7]", true, true},
      {"f32[255,2]", "f32[2]", "0", "column [1,255,2]", false, true},
      {"f32[256,2]", "f32[2]", "0", "column [1,256,2]", true, true},
      {"f32[4096,64]", "f32[64]", "0", "column [1,4096,64]", true, true},
      {"f32[4097,64]", "f32[64]", "0", "column [1,4097,64]", true, false},
      {"f32[4,64,64]", "f32[4,64]", "1", "column [4,64,64]", true, true},
      // Dimensions of size 1 do not part the others.
      {"f32[64,1,32]", "f32[1]", "0,2", "row [1,1,2048]", true, true},
      {"f32[1,64]", "f32[64]", "0", "column [1,1,64]", false, true},
      // By layout: what is logically last is physically first.
      {"f32[64,32]{0,1}", "f32[64]", "1", "column [1,32,64]", true, true},
      {"f32[2,3,4,5]", "f32[2,4]", "1,3", "", false, false},
  };
  for (const ReduceCase& c : cases) {
    std::unique_ptr<HloModule> module = Parse(ReduceModule(c));
    const HloInstruction& reduce = Root(*module);
    std::optional<ReductionDimensions> dims = ReductionDimensionsOf(reduce);
    EXPECT_EQ(dims.has_value() ? dims->ToString() : "", c.description);
    EXPECT_EQ(IsReductionFromOrToContiguousDimensions(reduce, Device()),
              c.unnested)
        << c.operand;
    if (dims.has_value()) {
      EXPECT_EQ(ReductionIsRaceFree(*dims, Device()), c.race_free) << c.operand;
    }
  }
}

struct TransposeCase {
  const char* hlo;
  // Empty: not tiled.
  const char* description;
  int64_t bytes;
};

TEST(HloFusionAnalysisTest, TiledTransposes) {
  const TransposeCase cases[] = {
      {"p = f32[32,48,64] parameter(0)"
       "  ROOT t = f32[64,48,32] transpose(p), dimensions={2,1,0}",
       "dimensions [64,48,32] permutation [2,1,0]", 32 * 33 * 4},
      {"p = f32[32,64] parameter(0)"
       "  ROOT t = f32[64,32] transpose(p), dimensions={1,0}",
       "dimensions [64,32] permutation [1,0]", 32 * 33 * 4},
      // Neighbors that stay neighbors are one.
      {"p = f32[32,4,16] parameter(0)"
       "  ROOT t = f32[4,16,32] transpose(p), dimensions={1,2,0}",
       "dimensions [64,32] permutation [1,0]", 32 * 33 * 4},
      {"p = f32[32,1,64] parameter(0)"
       "  ROOT t = f32[64,1,32] transpose(p), dimensions={2,1,0}",
       "dimensions [64,32] permutation [1,0]", 32 * 33 * 4},
      // A side of 15 is too short; of 8, if there are 8,192 elements.
      {"p = f32[15,64] parameter(0)"
       "  ROOT t = f32[64,15] transpose(p), dimensions={1,0}",
       "", 0},
      {"p = f32[8,1024] parameter(0)"
       "  ROOT t = f32[1024,8] transpose(p), dimensions={1,0}",
       "dimensions [1024,8] permutation [1,0]", 32 * 33 * 4},
      {"p = f32[8,1016] parameter(0)"
       "  ROOT t = f32[1016,8] transpose(p), dimensions={1,0}",
       "", 0},
      {"p = f32[7,8192] parameter(0)"
       "  ROOT t = f32[8192,7] transpose(p), dimensions={1,0}",
       "", 0},
      // Minor dimension stays: moved as one up to 8 bytes.
      {"p = f32[64,32,2] parameter(0)"
       "  ROOT t = f32[32,64,2] transpose(p), dimensions={1,0,2}",
       "dimensions [32,64,2] permutation [1,0,2]", 32 * 33 * 4 * 2},
      {"p = f32[64,32,3] parameter(0)"
       "  ROOT t = f32[32,64,3] transpose(p), dimensions={1,0,2}",
       "", 0},
      {"p = s8[64,7,2] parameter(0)"
       "  ROOT t = s8[7,64,2] transpose(p), dimensions={1,0,2}",
       "", 0},
      {"p = s8[64,8,2] parameter(0)"
       "  ROOT t = s8[8,64,2] transpose(p), dimensions={1,0,2}",
       "dimensions [8,64,2] permutation [1,0,2]", 32 * 33 * 2},
      // Two or four elements to a bank.
      {"p = bf16[128,64] parameter(0)"
       "  ROOT t = bf16[64,128] transpose(p), dimensions={1,0}",
       "dimensions [64,128] permutation [1,0]", 32 * 4 * 32 * 2},
      {"p = s8[128,256] parameter(0)"
       "  ROOT t = s8[256,128] transpose(p), dimensions={1,0}",
       "dimensions [256,128] permutation [1,0]", 32 * 4 * 32 * 4},
      {"p = bf16[128,32] parameter(0)"
       "  ROOT t = bf16[32,128] transpose(p), dimensions={1,0}",
       "dimensions [32,128] permutation [1,0]", 32 * 33 * 2},
      {"p = s4[128,256] parameter(0)"
       "  ROOT t = s4[256,128] transpose(p), dimensions={1,0}",
       "", 0},
      // A bitcast, and a copy.
      {"p = f32[32,64]{1,0} parameter(0)"
       "  ROOT t = f32[64,32]{0,1} transpose(p), dimensions={1,0}",
       "", 0},
      {"p = f32[32,64]{1,0} parameter(0) ROOT t = f32[32,64]{0,1} copy(p)", "",
       0},
  };
  for (const TransposeCase& c : cases) {
    std::unique_ptr<HloModule> module =
        Parse(absl::StrCat("ENTRY e { ", c.hlo, " }"));
    auto description = GetDescriptionForTiledTransposeEmitter(Root(*module));
    EXPECT_EQ(description.has_value() ? description->ToString() : "",
              c.description)
        << c.hlo;
    EXPECT_EQ(description.has_value() ? description->shmem_usage : 0, c.bytes)
        << c.hlo;
  }
}

// A concatenation of many operands is part of a loop.
TEST(HloFusionAnalysisTest, ConcatenationsWithoutKernel) {
  for (bool many : {false, true}) {
    auto module = Parse(Fusion(
        "p = f32[8]; q = f32[8]",
        many ? "c = f32[48] concatenate(p, q, p, q, p, q), dimensions={0}"
               "  ROOT r = f32[48] multiply(c, c)"
             : "c = f32[16] concatenate(p, q), dimensions={0}"
               "  ROOT r = f32[16] multiply(c, c)"));
    const HloFusionAnalysis analysis =
        HloFusionAnalysis::Create(Root(*module), Device());
    EXPECT_EQ(analysis.emitter_fusion_kind(),
              many ? HloFusionAnalysis::EmitterFusionKind::kLoop
                   : HloFusionAnalysis::EmitterFusionKind::kConcatenate);
    EXPECT_EQ(analysis.fusion_hero(0).name(), many ? "r" : "c");
  }
}

TEST(HloFusionAnalysisTest, Heroes) {
  struct HeroCase {
    const char* parameters;
    const char* body;
    const char* hero;
  };
  const HeroCase cases[] = {
      {"p = f32[64,64]; z = f32[]",
       "d = f32[64] reduce(p, z), dimensions={1}, to_apply=sum"
       "  n = f32[64] negate(d) b = f32[8,8] bitcast(n)"
       "  ROOT r = bf16[8,8] convert(b)",
       "d"},
      // The other operand is a constant.
      {"p = f32[64,64]; z = f32[]",
       "d = f32[64] reduce(p, z), dimensions={1}, to_apply=sum"
       "  k = f32[] constant(2) b = f32[64] broadcast(k), dimensions={}"
       "  ROOT r = f32[64] multiply(d, b)",
       "d"},
      {"p = f32[64,64]; z = f32[]; q = f32[64]",
       "d = f32[64] reduce(p, z), dimensions={1}, to_apply=sum"
       "  ROOT r = f32[64] multiply(d, q)",
       "r"},
      {"p = f32[64,64]; z = f32[]",
       "d = f32[64] reduce(p, z), dimensions={1}, to_apply=sum"
       "  ROOT r = f32[64] multiply(d, d)",
       "d"},
      {"p = f32[32,64]; q = f32[64,32]",
       "t = f32[64,32] transpose(p), dimensions={1,0}"
       "  ROOT r = f32[64,32] add(t, q)",
       "t"},
      {"p = f32[32,64]; q = f32[64,32]",
       "t = f32[64,32] transpose(p), dimensions={1,0}"
       "  s = f32[64,32] slice(q), slice={[0:64],[0:32]}"
       "  ROOT r = f32[64,32] add(t, s)",
       "t"},
      {"p = f32[32,64]; q = f32[64,2]",
       "t = f32[64,32] transpose(p), dimensions={1,0}"
       "  ROOT r = f32[64,16] slice(t), slice={[0:64],[0:16]}",
       "r"},
      {"p = f32[64,32]; q = f32[32,64]; k = f32[32,64]",
       "c = f32[64,64] concatenate(q, k), dimensions={0}"
       "  ROOT r = f32[64,64] exponential(c)",
       "c"},
      // Two that are not alike.
      {"p = f32[64,64]; q = f32[32,64]",
       "c = f32[64,64] concatenate(q, q), dimensions={0}"
       "  t = f32[64,64] transpose(p), dimensions={1,0}"
       "  ROOT r = f32[64,64] add(c, t)",
       "r"},
      {"p = f32[64]", "ROOT r = f32[64] negate(p)", "r"},
  };
  for (const HeroCase& c : cases) {
    std::unique_ptr<HloModule> module = Parse(Fusion(c.parameters, c.body));
    const HloInstruction& root = *Root(*module).fused_expression_root();
    EXPECT_EQ(FindNonTrivialHero(root).name(), c.hero) << c.body;
    auto adaptor = HloFusionAdaptor::ForInstruction(&Root(*module));
    EXPECT_EQ(FindNonTrivialHero(adaptor->GetRoots()[0]).name(), c.hero)
        << c.body;
  }
}

TEST(HloFusionAnalysisTest, Kinds) {
  struct KindCase {
    const char* parameters;
    const char* body;
    const char* kind;
  };
  const KindCase cases[] = {
      {"p = f32[64]", "ROOT r = f32[64] abs(p)", "loop"},
      {"p = f32[64,64]; z = f32[]",
       "d = f32[64] reduce(p, z), dimensions={1}, to_apply=sum"
       "  ROOT r = f32[64] negate(d)",
       "reduction"},
      // A second output over the same elements, and one that is not.
      {"p = f32[64,64]; z = f32[]",
       "d = f32[64] reduce(p, z), dimensions={1}, to_apply=sum"
       "  a = f32[64,64] abs(p) ROOT t = (f32[64,64], f32[64]) tuple(a, d)",
       "reduction"},
      {"p = f32[64,64]; z = f32[]",
       "d = f32[64] reduce(p, z), dimensions={1}, to_apply=sum"
       "  a = f32[64,3] broadcast(d), dimensions={0}"
       "  ROOT t = (f32[64,3], f32[64]) tuple(a, d)",
       "loop"},
      {"p = f32[64,24]; z = f32[]",
       "ROOT d = f32[64] reduce(p, z), dimensions={1}, to_apply=sum", "loop"},
      {"p = f32[64,64]",
       "t = f32[64,64] transpose(p), dimensions={1,0}"
       "  ROOT r = f32[64,64] negate(t)",
       "transpose"},
      {"p = f32[64,64]",
       "t = f32[64,64] transpose(p), dimensions={1,0}"
       "  a = f32[64,64] abs(p)"
       "  ROOT r = (f32[64,64], f32[64,64]) tuple(t, a)",
       "transpose"},
      {"p = f32[64]; i = s32[2,1]; u = f32[2]",
       "ROOT r = f32[64] scatter(p, i, u), to_apply=sum,"
       "  update_window_dims={}, inserted_window_dims={0},"
       "  scatter_dims_to_operand_dims={0}, index_vector_dim=1",
       "scatter"},
      {"p = f32[64]", "ROOT r = f32[128] concatenate(p, p), dimensions={0}",
       "concatenate"},
      {"p = f32[64]",
       "ROOT r = f32[320] concatenate(p, p, p, p, p), dimensions={0}", "loop"},
  };
  for (const KindCase& c : cases) {
    std::unique_ptr<HloModule> module = Parse(Fusion(c.parameters, c.body));
    HloFusionAnalysis analysis =
        HloFusionAnalysis::Create(Root(*module), Device());
    EXPECT_EQ(ToString(analysis.emitter_fusion_kind()), c.kind) << c.body;
    EXPECT_EQ(analysis.FindHeroReduction() != nullptr,
              absl::string_view(c.kind) == "reduction");
    EXPECT_EQ(analysis.tiled_transpose().instr != nullptr,
              absl::string_view(c.kind) == "transpose");
  }
}

TEST(HloFusionAnalysisTest, BackendConfigs) {
  auto kind = [](absl::string_view config) {
    std::unique_ptr<HloModule> module = Parse(absl::StrReplaceAll(
        Fusion("p = f32[64]", "ROOT r = f32[64] abs(p)", "kCustom"),
        {{"calls=fused", absl::StrCat("calls=fused", config)}}));
    return std::string(
        ToString(HloFusionAnalysis::Create(Root(*module), Device())
                     .emitter_fusion_kind()));
  };
  EXPECT_EQ(kind(""), "loop");
  EXPECT_EQ(kind(R"(, backend_config={"fusion_backend_config":
      {"kind":"__triton","block_level_fusion_config":{"num_warps":"4"}}})"),
            "triton");
  EXPECT_EQ(kind(R"(, backend_config={"fusion_backend_config":
      {"kind":"__cudnn$fusion"}})"),
            "cudnn");
  EXPECT_EQ(kind(R"(, backend_config={"fusion_backend_config":
      {"kind":"__custom_fusion"}})"),
            "custom");
  EXPECT_EQ(kind(R"(, backend_config="no config")"), "loop");
}

TEST(HloFusionAnalysisTest, ProducerAndConsumer) {
  std::unique_ptr<HloModule> module = Parse(R"(
ENTRY e { p = s8[64,64] parameter(0) z = f32[] parameter(1)
  c = f32[64,64] convert(p)
  d = f32[64] reduce(c, z), dimensions={1}, to_apply=sum
  ROOT r = f16[64] convert(d) })");
  HloFusionAnalysis analysis = HloFusionAnalysis::Create(
      Find(*module, "c"), Find(*module, "d"), Device());
  EXPECT_EQ(ToString(analysis.emitter_fusion_kind()), "reduction");
  EXPECT_EQ(analysis.FindHeroReduction()->name(), "d");
  EXPECT_EQ(analysis.input_output_info().smallest_input_dtype_bits, 8);
  EXPECT_EQ(analysis.input_output_info().smallest_output_dtype_bits, 32);
  EXPECT_EQ(analysis.fusion_root_count(), 1);
  EXPECT_EQ(analysis.first_result_shape(), Find(*module, "d").shape());
  analysis = HloFusionAnalysis::Create(Find(*module, "d"), Find(*module, "r"),
                                       Device());
  EXPECT_EQ(analysis.fusion_root(0).name(), "r");
  EXPECT_EQ(analysis.fusion_hero(0).name(), "d");
}

}  // namespace
}  // namespace gpu
}  // namespace xla
