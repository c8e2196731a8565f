#include "xla/hlo/memory/report/layer_name.h"

#include <string>

#include "gtest/gtest.h"

namespace xla {
namespace {

TEST(LayerNameTest, EqualLayersHaveOneName) {
  const std::string seventh =
      LayerName("jit(step)/transpose(jvp(Model))/block_7/mlp/dot_general");
  EXPECT_EQ(seventh, "Model/block_*/mlp (backward)");
  EXPECT_EQ(LayerName("jit(step)/transpose(jvp(Model))/block_12/mlp/mul"),
            seventh);
  EXPECT_EQ(LayerName("jit(step)/jvp(Model)/block_7/mlp/mul"),
            "Model/block_*/mlp");
}

TEST(LayerNameTest, ControlFlowIsNoLayer) {
  EXPECT_EQ(LayerName("jit(step)/jit(main)/while/body/closed_call/mlp/mul"),
            "mlp");
  EXPECT_EQ(LayerName("jit(step)/transpose(jvp())/while/body/mul"),
            "mul (backward)");
  EXPECT_EQ(LayerName("jit(step)/jvp(jit(relu))/max"), "relu");
}

TEST(LayerNameTest, ArgumentsKeepTheirPath) {
  EXPECT_EQ(LayerName("params['layers'][3]['gate']"), "params/layers/*/gate");
  EXPECT_EQ(LayerName("params[0]"), "params/*");
  EXPECT_EQ(LayerName("x"), "x");
}

TEST(LayerNameTest, ScopesKeepNumbersAndPass) {
  const OpScope forward = ParseOpName("jit(step)/jvp(Model)/block_7/mlp/mul");
  EXPECT_EQ(forward.layer, "Model/block_7/mlp");
  EXPECT_EQ(forward.primitive, "mul");
  EXPECT_TRUE(forward.differentiated);
  EXPECT_FALSE(forward.backward);
  EXPECT_EQ(WithoutNumbers(forward.layer), "Model/block_*/mlp");

  const OpScope backward =
      ParseOpName("jit(step)/transpose(jvp())/while/body/checkpoint/tanh");
  EXPECT_EQ(backward.layer, "");
  EXPECT_EQ(backward.primitive, "tanh");
  EXPECT_TRUE(backward.differentiated);
  EXPECT_TRUE(backward.backward);

  EXPECT_FALSE(ParseOpName("jit(step)/adam/mul").differentiated);
}

TEST(LayerNameTest, NumbersWithinWordsStay) {
  EXPECT_EQ(LayerName("jit(f)/Unet2DModel/conv2d_3/conv"),
            "Unet2DModel/conv2d_*");
}

TEST(LayerNameTest, OddNames) {
  EXPECT_EQ(LayerName(""), "");
  EXPECT_EQ(LayerName("jit(step)/mul"), "mul");
  EXPECT_EQ(LayerName("jit(f)/mlp/mul;jit(f)/norm/add"), "mlp");
  EXPECT_EQ(LayerName("/"), "");
  EXPECT_EQ(LayerName("))(("), "))((");
  EXPECT_EQ(LayerName("f("), "f(");
}

}  // namespace
}  // namespace xla
