#include "xla/shape_tree.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

using ::testing::ElementsAre;

// (f32[], (s32[], (), token[]), u8[])
Shape Nested() {
  return ShapeUtil::MakeTupleShape(
      {ShapeUtil::MakeShape(F32, {}),
       ShapeUtil::MakeTupleShape({ShapeUtil::MakeShape(S32, {}),
                                  ShapeUtil::MakeNil(),
                                  ShapeUtil::MakeTokenShape()}),
       ShapeUtil::MakeShape(U8, {})});
}

template <typename Range>
std::vector<std::string> Indices(const Range& range) {
  std::vector<std::string> result;
  for (const auto& node : range) result.push_back(node.first.ToString());
  return result;
}

TEST(ShapeTreeTest, NodesAreInPreOrder) {
  ShapeTree<int> tree(Nested());
  EXPECT_THAT(Indices(tree), ElementsAre("{}", "{0}", "{1}", "{1,0}", "{1,1}",
                                         "{1,2}", "{2}"));
  EXPECT_THAT(Indices(tree.leaves()),
              ElementsAre("{0}", "{1,0}", "{1,2}", "{2}"));
  EXPECT_EQ(tree.leaf_count(), 4);
}

TEST(ShapeTreeTest, ReverseIterationVisitsTheSameNodes) {
  ShapeTree<int> tree(Nested());
  std::vector<std::string> all;
  for (auto it = tree.rbegin(); it != tree.rend(); ++it) {
    all.push_back(it->first.ToString());
  }
  EXPECT_THAT(
      all, ElementsAre("{2}", "{1,2}", "{1,1}", "{1,0}", "{1}", "{0}", "{}"));
  std::vector<std::string> leaves;
  const ShapeTree<int>& const_tree = tree;
  for (auto it = const_tree.leaf_rbegin(); it != const_tree.leaf_rend(); ++it) {
    leaves.push_back(it->first.ToString());
  }
  EXPECT_THAT(leaves, ElementsAre("{2}", "{1,2}", "{1,0}", "{0}"));
}

TEST(ShapeTreeTest, EveryIndexFindsItsElement) {
  for (const Shape& shape :
       {Nested(), ShapeUtil::MakeShape(F32, {3}), ShapeUtil::MakeNil(),
        ShapeUtil::MakeTupleShape(
            {ShapeUtil::MakeTokenShape(), ShapeUtil::MakeTokenShape()})}) {
    ShapeTree<std::string> tree(&shape, "x");
    for (auto& node : tree) node.second = node.first.ToString();
    ShapeUtil::ForEachSubshape(
        shape, [&](const Shape& subshape, const ShapeIndex& index) {
          EXPECT_EQ(tree.element(index), index.ToString());
          EXPECT_EQ(tree.find(index)->first, index);
          EXPECT_EQ(tree.IsLeaf(index), !subshape.IsTuple());
        });
    EXPECT_EQ(tree.find({7}), tree.end());
    EXPECT_EQ(tree.find({0, 0, 0}), tree.end());
    EXPECT_EQ(tree.find({-1}), tree.end());
    EXPECT_EQ(&tree.shape(), &shape);
  }
}

TEST(ShapeTreeTest, ValuesMayBeMoveOnly) {
  ShapeTree<std::unique_ptr<int>> tree(Nested());
  EXPECT_EQ(tree.element({1, 0}), nullptr);
  *tree.mutable_element({1, 0}) = std::make_unique<int>(5);
  ShapeTree<std::unique_ptr<int>> moved = std::move(tree);
  EXPECT_EQ(*moved.element({1, 0}), 5);
}

TEST(ShapeTreeTest, CopiesAreIndependent) {
  ShapeTree<int> tree(Nested(), 1);
  ShapeTree<int> copy = tree;
  EXPECT_EQ(tree, copy);
  *copy.mutable_element({1}) = 2;
  EXPECT_NE(tree, copy);
  EXPECT_EQ(tree.element({1}), 1);
  *copy.find({1}) = {ShapeIndex({1}), 1};
  EXPECT_EQ(tree, copy);
}

TEST(ShapeTreeTest, SubtreesAreCopiedAndTakenOut) {
  ShapeTree<int> from(Nested(), 7);
  Shape outer =
      ShapeUtil::MakeTupleShape({Nested(), ShapeUtil::MakeTokenShape()});
  ShapeTree<int> to(outer, 0);
  to.CopySubtreeFrom(from, /*src_index=*/{1}, /*dst_index=*/{0, 1});
  std::vector<std::string> changed;
  for (const auto& node : to) {
    if (node.second == 7) changed.push_back(node.first.ToString());
  }
  EXPECT_THAT(changed, ElementsAre("{0,1}", "{0,1,0}", "{0,1,1}", "{0,1,2}"));
  ShapeTree<int> sub = *to.SubShapeTree({0, 1});
  EXPECT_THAT(Indices(sub), ElementsAre("{}", "{0}", "{1}", "{2}"));
  EXPECT_EQ(sub.element({2}), 7);
  EXPECT_FALSE(to.SubShapeTree({3}).ok());
}

TEST(ShapeTreeTest, WalksInBothOrders) {
  ShapeTree<int> tree(Nested());
  std::vector<std::string> order;
  tree.ForEachMutableElementPostOrder([&](const ShapeIndex& index, int* value) {
    *value = order.size();
    order.push_back(index.ToString());
  });
  EXPECT_THAT(
      order, ElementsAre("{0}", "{1,0}", "{1,1}", "{1,2}", "{1}", "{2}", "{}"));
  int visits = 0;
  absl::Status status =
      tree.ForEachElementWithStatus([&](const ShapeIndex& index, int value) {
        ++visits;
        return value == 4 ? absl::InternalError("stop") : absl::OkStatus();
      });
  EXPECT_EQ(status.message(), "stop");
  EXPECT_EQ(visits, 3);
}

TEST(ShapeTreeTest, MapsToAnotherType) {
  ShapeTree<int> tree(Nested(), 3);
  ShapeTree<std::string> text =
      tree.Map<std::string>([](int value) { return std::to_string(value); });
  EXPECT_EQ(text.element({1, 2}), "3");
  EXPECT_EQ(tree.MapWithStatus<int>([](int) -> absl::StatusOr<int> {
                  return absl::InternalError("no");
                })
                .status()
                .message(),
            "no");
}

TEST(ShapeTreeTest, DefaultTreeHasOneNode) {
  ShapeTree<bool> tree;
  EXPECT_THAT(Indices(tree), ElementsAre("{}"));
  EXPECT_FALSE(tree.element({}));
}

}  // namespace
}  // namespace xla
