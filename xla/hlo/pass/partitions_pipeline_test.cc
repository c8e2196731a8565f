#include "xla/hlo/pass/partitions_pipeline.h"

#include <memory>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_partitions.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {
namespace {

TEST(HloPartitionsTest, WhatSaysSo) {
  const auto entry = [](absl::string_view name, absl::string_view attributes) {
    return *ParseAndReturnUnverifiedModule(absl::StrCat(
        "ENTRY ", name, " { ROOT a = f32[4] parameter(0)", attributes, " }"));
  };
  EXPECT_FALSE(IsPartitioned(*entry("main", "")));
  EXPECT_FALSE(IsPartitioned(*entry("main_spmd2", "")));
  EXPECT_TRUE(IsPartitioned(*entry("main_spmd", "")));
  EXPECT_TRUE(IsPartitioned(*entry("main.3_spmd.clone", "")));
  auto recorded = entry("main", "");
  EXPECT_FALSE(HasShardings(*recorded));
  recorded->set_spmd_output_sharding(HloSharding::Replicate());
  EXPECT_TRUE(IsPartitioned(*recorded));
  EXPECT_TRUE(HasShardings(*entry("main", ", sharding={replicated}")));
  EXPECT_FALSE(IsToBePartitioned(*entry("main", ", sharding={replicated}")));
  auto several = entry("main", ", sharding={replicated}");
  several->mutable_config().set_num_partitions(2);
  EXPECT_TRUE(IsToBePartitioned(*several));
  several->set_spmd_output_sharding(HloSharding::Replicate());
  EXPECT_FALSE(IsToBePartitioned(*several));
  recorded->add_frontend_attribute("xla.sdy.meshes", "{}");
  EXPECT_TRUE(HasShardings(*recorded));
}

TEST(PartitionsPipelineTest, RunsOnModulesOfSeveralDevices) {
  // Undoes its own condition: asked once, before the first pass.
  class Clear : public HloModulePass {
   public:
    absl::string_view name() const override { return "clear"; }

   protected:
    absl::StatusOr<bool> RunImpl(
        HloModule* module,
        const absl::flat_hash_set<absl::string_view>&) override {
      module->entry_computation()->root_instruction()->clear_sharding();
      return true;
    }
  };
  PartitionsPipeline pipeline("p");
  pipeline.AddPass<Clear>();
  pipeline.AddPass<Clear>();
  auto module = *ParseAndReturnUnverifiedModule(
      "ENTRY e { ROOT a = f32[4] parameter(0), sharding={replicated} }");
  EXPECT_FALSE(*pipeline.Run(module.get()));
  module->mutable_config().set_num_partitions(2);
  EXPECT_TRUE(*pipeline.Run(module.get()));
  EXPECT_FALSE(*pipeline.Run(module.get()));
}

}  // namespace
}  // namespace xla
