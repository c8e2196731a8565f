#include "xla/hlo/ir/hlo_sharding_metadata.h"

#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_domain_metadata.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

TEST(ShardingMetadataTest, DomainsStandWhereShardingsDiffer) {
  HloModule module("m", HloModuleConfig());
  const Shape scalar = ShapeUtil::MakeShape(F32, {});
  HloComputation::Builder builder("entry");
  HloInstruction* p =
      builder.AddInstruction(HloInstruction::CreateParameter(0, scalar, "p"));
  HloInstruction* x = builder.AddInstruction(
      HloInstruction::CreateUnary(scalar, HloOpcode::kExp, p));
  HloInstruction* y = builder.AddInstruction(
      HloInstruction::CreateUnary(scalar, HloOpcode::kNegate, x));
  module.AddEntryComputation(builder.Build());
  x->set_sharding(HloSharding::SingleDevice(0));
  y->set_sharding(HloSharding::SingleDevice(1));
  ShardingDomainCreator creator;
  HloInstruction* domain = creator(y, x, x);
  ASSERT_NE(domain, nullptr);
  EXPECT_EQ(domain->opcode(), HloOpcode::kDomain);
  EXPECT_EQ(creator(y, x, x), domain);
  EXPECT_EQ(domain->user_side_metadata().ToString(), "{maximal device=1}");
  EXPECT_TRUE(domain->operand_side_metadata().Matches(
      ShardingMetadata(x->sharding_ptr())));
  EXPECT_FALSE(
      domain->operand_side_metadata().Matches(domain->user_side_metadata()));
  y->copy_sharding(x);
  EXPECT_EQ(creator(y, x, x), nullptr);

  DomainMetadata::Domain region;
  p->clear_sharding();
  region.instructions = {p, x};
  ShardingMetadata device3(
      std::make_shared<const HloSharding>(HloSharding::SingleDevice(3)));
  ASSERT_TRUE(ShardingMetadata::NormalizeShardingDomain(region, &device3).ok());
  EXPECT_EQ(p->sharding().GetUniqueDevice(), 3);
  EXPECT_EQ(x->sharding().GetUniqueDevice(), 0);
}

}  // namespace
}  // namespace xla
