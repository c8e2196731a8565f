#ifndef XLA_TUPLE_TREE_H_
#define XLA_TUPLE_TREE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/log/check.h"
#include "xla/shape_util.h"

namespace xla {

// Values at the leaves of nested tuples. Unlike a ShapeTree it needs no shape,
// and inner nodes hold nothing.
template <typename T>
class TupleTree {
 public:
  // A leaf, or a tuple of nodes, which may be empty.
  //
  //   ((1, 2), 3)  =  Node::Tuple({Node::Tuple({Node::Leaf(1), Node::Leaf(2)}),
  //                                Node::Leaf(3)})
  class Node {
   public:
    // A leaf with T's default value.
    Node() = default;
    static Node Leaf(T value) {
      Node node;
      node.value_ = std::move(value);
      return node;
    }
    static Node Tuple(std::vector<Node> children = {}) {
      Node node;
      node.is_leaf_ = false;
      node.children_ = std::move(children);
      return node;
    }

    bool IsLeaf() const { return is_leaf_; }
    // Only for leaves.
    const T& value() const {
      CHECK(is_leaf_);
      return value_;
    }
    // Empty for leaves.
    const std::vector<Node>& children() const { return children_; }

   private:
    bool is_leaf_ = true;
    T value_ = T();
    std::vector<Node> children_;
  };

  // One leaf.
  TupleTree() = default;
  explicit TupleTree(Node root) : root_(std::move(root)) {}

  const Node& root() const { return root_; }

  // Calls `function` for each leaf, in pre-order.
  void ForEachLeaf(
      absl::FunctionRef<void(const ShapeIndex&, const T&)> function) const {
    ShapeIndex index;
    Visit(root_, index, function);
  }

 private:
  static void Visit(
      const Node& node, ShapeIndex& index,
      absl::FunctionRef<void(const ShapeIndex&, const T&)> function) {
    if (node.IsLeaf()) return function(index, node.value());
    for (int64_t i = 0; i < static_cast<int64_t>(node.children().size()); ++i) {
      index.push_back(i);
      Visit(node.children()[i], index, function);
      index.pop_back();
    }
  }

  Node root_;
};

}  // namespace xla

#endif  // XLA_TUPLE_TREE_H_
