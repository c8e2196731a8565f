#include "xla/hlo/utils/foreign_format.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/utils/module_io.h"
#include "xla/service/hlo.pb.h"

namespace xla {
namespace {

using ::testing::HasSubstr;

TEST(ForeignFormatTest, SaysWhatToDo) {
  EXPECT_THAT(ForeignFormatAdvice("\x1f\x8b\x08"), HasSubstr("zcat FILE"));
  EXPECT_THAT(ForeignFormatAdvice("\x28\xb5\x2f\xfd"), HasSubstr("zstdcat"));
  EXPECT_THAT(ForeignFormatAdvice("\xef\xbb\xbfHloModule m"),
              HasSubstr("byte order mark"));
  EXPECT_THAT(ForeignFormatAdvice("\xff\xfeH"), HasSubstr("UTF-16"));
  const std::string name = "dump/" + std::string(252, '\0');
  EXPECT_THAT(ForeignFormatAdvice(name + "ustar  " + std::string(249, '\0')),
              HasSubstr("tar archive"));
  EXPECT_THAT(ForeignFormatAdvice(name + std::string("ustar\00000root", 12)),
              HasSubstr("tar archive"));
  EXPECT_THAT(ForeignFormatAdvice("ML\xefR\x01"), HasSubstr("as_text"));
  EXPECT_THAT(ForeignFormatAdvice("#loc = loc(unknown)\nmodule @jit_f {\n"
                                  "  func.func public @main("),
              HasSubstr("jax.jit(f).lower"));
  EXPECT_THAT(ForeignFormatAdvice("%0 = stablehlo.abs %a : tensor<4xf32>\n"),
              HasSubstr("jax.jit(f).lower"));
}

TEST(ForeignFormatTest, NamesWhatReadersOfOtherTextMeet) {
  EXPECT_EQ(NameOfUnwantedFile("// RUN: x\nHloModule m\n"), "an HLO module");
  EXPECT_EQ(NameOfUnwantedFile("\n\x95\x01\n\x01m\x12"),
            "binary, such as a proto of an HLO module");
  EXPECT_EQ(NameOfUnwantedFile("hlo_module {\n  name: \"m\"\n"),
            "a proto of an HLO module as text");
  EXPECT_EQ(NameOfUnwantedFile("name: \"m\"\nentry_computation_name: \"e\"\n"),
            "a proto of an HLO module as text");
  EXPECT_THAT(NameOfUnwantedFile("\x1f\x8b\x08"), HasSubstr("zcat FILE"));
  EXPECT_EQ(NameOfUnwantedFile("id,lower,upper,size\r\n1,0,4,8\n"), "");
  EXPECT_EQ(NameOfUnwantedFile("kernel k {\n  # of an HloModule \n"), "");
  EXPECT_EQ(NameOfUnwantedFile(std::string(4096, ' ') + "\nHloModule m\n"), "");
}

TEST(ForeignFormatTest, NamesWhatLiesBesideModules) {
  EXPECT_THAT(ForeignFormatAdvice("BufferAssignment:\nallocation 0: size 4"),
              HasSubstr("buffer assignment, not HLO"));
  EXPECT_THAT(ForeignFormatAdvice("Total bytes used: 12 (12B)\n"),
              HasSubstr("memory usage, not HLO"));
  EXPECT_THAT(ForeignFormatAdvice("\nTotal bytes used: 12 (12B)\n"),
              HasSubstr("memory usage, not HLO"));
  EXPECT_THAT(ForeignFormatAdvice("Memory Space: default (color=0)\n"),
              HasSubstr("memory usage, not HLO"));
  EXPECT_THAT(ForeignFormatAdvice("HloLiveRange (max 15):\n"),
              HasSubstr("live ranges, not HLO"));
  EXPECT_THAT(ForeignFormatAdvice("xla_dump_to: \"dump\"\n"),
              HasSubstr("flags, not HLO"));
  EXPECT_THAT(ForeignFormatAdvice("; ModuleID = 'jit_f'\n"),
              HasSubstr("LLVM IR, not HLO"));
  EXPECT_THAT(ForeignFormatAdvice("//\n.version 8.3\n.target sm_90a\n"),
              HasSubstr("PTX, not HLO"));
  EXPECT_THAT(ForeignFormatAdvice("{ lambda ; a:f32[4]. let\n"),
              HasSubstr("a jaxpr, not HLO"));
}

TEST(ForeignFormatTest, LeavesHloAlone) {
  EXPECT_EQ(ForeignFormatAdvice(""), "");
  EXPECT_EQ(ForeignFormatAdvice("HloModule m\nENTRY e { }"), "");
  EXPECT_EQ(ForeignFormatAdvice("// func.func of old\nHloModule m"), "");
  EXPECT_EQ(ForeignFormatAdvice("xla_add { x = f32[] parameter(0) }"), "");
  EXPECT_EQ(ForeignFormatAdvice("xla_add(x: f32[]) -> f32[] {"), "");
  EXPECT_EQ(ForeignFormatAdvice("HloLiveRange { x = f32[] parameter(0) }"), "");
  EXPECT_EQ(ForeignFormatAdvice("\n\x05hello"), "");
  EXPECT_EQ(ForeignFormatAdvice("\n\txla_step1\x12\x01s"), "");
  EXPECT_EQ(ForeignFormatAdvice("xla_sum {\n  ROOT p = f32[] parameter(0)\n}"),
            "");
  EXPECT_EQ(ForeignFormatAdvice("HloModule m\n// " + std::string(242, 'y') +
                                "ustard\nENTRY e { }"),
            "");
  // Kernels in custom calls, and names of custom calls: as text and as proto.
  EXPECT_EQ(ForeignFormatAdvice("HloModule m\nENTRY e {\nbackend_config="
                                "\".version 8.3\\n.target sm_90a\""),
            "");
  EXPECT_EQ(
      ForeignFormatAdvice("// A comment.\nHloModule m\n\"\n.target sm_90a"),
      "");
  EXPECT_EQ(ForeignFormatAdvice("\n\x05 ptx.version 8.3\n.target sm_90a"), "");
  EXPECT_EQ(ForeignFormatAdvice("\n\x01m\x1a\x08mhlo.erf"), "");
}

TEST(ForeignFormatTest, ReadingSaysItWithTheFile) {
  HloParserOptions options;
  options.set_file_name("step.hlo.gz");
  const auto module = ReadModule("\x1f\x8b\x08 more", options);
  EXPECT_EQ(module.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(module.status().message()),
              HasSubstr("step.hlo.gz: error: compressed by gzip"));
}

// As XLA's report on memory usage looks to who takes it for a module.
TEST(ForeignFormatTest, AProtoWithoutInstructionsIsNoModule) {
  HloProto proto;
  proto.mutable_hlo_module()->add_computations();
  HloParserOptions options;
  options.set_file_name("report.pb");
  const auto module = ReadModule(proto.SerializeAsString(), options);
  EXPECT_EQ(module.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(module.status().message()),
              HasSubstr("nor a proto that holds an HLO module"));
}

// Other messages are tried before, for which its bytes are no UTF-8.
TEST(ForeignFormatTest, ASnapshotIsReadWithoutAWord) {
  const auto module = ReadModule(
      "HloModule m\nENTRY e {\n  p = f32[128]{0} parameter(0)\n"
      "  ROOT r = f32[128]{0} negate(p), metadata={op_name=\"jit(f)/neg\"}\n}",
      HloParserOptions());
  ASSERT_TRUE(module.ok()) << module.status();
  HloSnapshot snapshot;
  *snapshot.mutable_hlo()->mutable_hlo_module() = (*module)->ToProto();
  testing::internal::CaptureStderr();
  const auto read =
      ReadModule(snapshot.SerializeAsString(), HloParserOptions());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ((*read)->name(), "m");
}

}  // namespace
}  // namespace xla
