#ifndef XLA_SHAPE_TREE_H_
#define XLA_SHAPE_TREE_H_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/iterator_range.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla {

namespace internal {

// The pre-order positions of a shape's subshapes. Shapes that are not tuples,
// and tuples of leaves, need no table.
class ShapeTreeIndex {
 public:
  ShapeTreeIndex() = default;
  explicit ShapeTreeIndex(const Shape& shape);

  // Pre-order position of a subshape, -1 if the shape has none there.
  // O(index.size()).
  int64_t Find(ShapeIndexView index) const;
  bool IsLeaf(int64_t position) const {
    return entries_.empty() ? position > 0 || !is_tuple_
                            : entries_[position].children < 0;
  }
  // Number of subshapes at and below a position.
  int64_t SubtreeSize(int64_t position) const {
    if (!entries_.empty()) return entries_[position].size;
    return position == 0 ? size_ : 1;
  }
  int64_t size() const { return size_; }

 private:
  struct Entry {
    int64_t children;  // Start in children_, -1 for leaves.
    int64_t child_count;
    int64_t size;
  };
  void Add(const Shape& shape);

  int64_t size_ = 1;
  bool is_tuple_ = false;
  std::vector<Entry> entries_;     // By position; empty if not nested.
  std::vector<int64_t> children_;  // Positions of children, by parent.
};

}  // namespace internal

// A value of type T for every subshape of a shape: of `(f32[], (s32[], u8[]))`
// the whole {}, {0}, {1}, {1,0} and {1,1}. Values lie in one vector, in
// pre-order. T may be move-only.
//
// The tree owns its shape, or points to one that outlives it.
template <typename T>
class ShapeTree {
 public:
  // An index and its value.
  using Node = std::pair<ShapeIndex, T>;
  using Nodes = absl::InlinedVector<Node, 1>;

  // A tree of an empty tuple.
  ShapeTree() : ShapeTree(ShapeUtil::MakeNil()) {}

  // Values are value-initialized, or copies of `init_value`.
  explicit ShapeTree(Shape shape)
      : ShapeTree(std::make_shared<Shape>(std::move(shape))) {}
  explicit ShapeTree(const Shape* shape)
      : ShapeTree(std::shared_ptr<const Shape>(Unowned(), shape)) {}
  ShapeTree(Shape shape, const T& init_value)
      : ShapeTree(std::make_shared<Shape>(std::move(shape)), init_value) {}
  ShapeTree(const Shape* shape, const T& init_value)
      : ShapeTree(std::shared_ptr<const Shape>(Unowned(), shape), init_value) {}

  ShapeTree(const ShapeTree&) = default;
  ShapeTree& operator=(const ShapeTree&) = default;
  // The tree moved from may only be assigned to or destroyed.
  ShapeTree(ShapeTree&&) = default;
  ShapeTree& operator=(ShapeTree&& other) = default;

  // The index must be valid.
  const T& element(ShapeIndexView index) const {
    return nodes_[Position(index)].second;
  }
  T* mutable_element(ShapeIndexView index) {
    return &nodes_[Position(index)].second;
  }

  const Shape& shape() const { return *shape_; }
  // Points the tree to an equal shape elsewhere.
  void replace_shape_ptr(const Shape& shape) {
    if (shape_.get() != nullptr)
      DCHECK(ShapeUtil::EqualStructure(shape, *shape_));
    shape_ = std::shared_ptr<const Shape>(Unowned(), &shape);
  }

  bool IsLeaf(ShapeIndexView index) const {
    return index_.IsLeaf(Position(index));
  }

 private:
  template <typename NodePtr, bool kLeavesOnly>
  class Iterator;

 public:
  using iterator = Iterator<Node*, false>;
  using const_iterator = Iterator<const Node*, false>;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;
  using leaf_iterator = Iterator<Node*, true>;
  using const_leaf_iterator = Iterator<const Node*, true>;
  using reverse_leaf_iterator = std::reverse_iterator<leaf_iterator>;
  using const_reverse_leaf_iterator =
      std::reverse_iterator<const_leaf_iterator>;

  // Nodes in pre-order; leaf iterators skip tuples.
  iterator begin() { return iterator(&index_, nodes_.data(), 0); }
  iterator end() { return iterator(&index_, nodes_.data(), nodes_.size()); }
  const_iterator begin() const {
    return const_iterator(&index_, nodes_.data(), 0);
  }
  const_iterator end() const {
    return const_iterator(&index_, nodes_.data(), nodes_.size());
  }
  reverse_iterator rbegin() { return reverse_iterator(end()); }
  reverse_iterator rend() { return reverse_iterator(begin()); }
  const_reverse_iterator rbegin() const {
    return const_reverse_iterator(end());
  }
  const_reverse_iterator rend() const {
    return const_reverse_iterator(begin());
  }

  leaf_iterator leaf_begin() {
    return leaf_iterator(&index_, nodes_.data(), 0);
  }
  leaf_iterator leaf_end() {
    return leaf_iterator(&index_, nodes_.data(), nodes_.size());
  }
  const_leaf_iterator leaf_begin() const {
    return const_leaf_iterator(&index_, nodes_.data(), 0);
  }
  const_leaf_iterator leaf_end() const {
    return const_leaf_iterator(&index_, nodes_.data(), nodes_.size());
  }
  tsl::gtl::iterator_range<leaf_iterator> leaves() {
    return {leaf_begin(), leaf_end()};
  }
  tsl::gtl::iterator_range<const_leaf_iterator> leaves() const {
    return {leaf_begin(), leaf_end()};
  }
  reverse_leaf_iterator leaf_rbegin() {
    return reverse_leaf_iterator(leaf_end());
  }
  reverse_leaf_iterator leaf_rend() {
    return reverse_leaf_iterator(leaf_begin());
  }
  const_reverse_leaf_iterator leaf_rbegin() const {
    return const_reverse_leaf_iterator(leaf_end());
  }
  const_reverse_leaf_iterator leaf_rend() const {
    return const_reverse_leaf_iterator(leaf_begin());
  }

  // end() if the shape has no such index.
  iterator find(ShapeIndexView index) {
    int64_t position = index_.Find(index);
    return position < 0 ? end() : iterator(&index_, nodes_.data(), position);
  }
  const_iterator find(ShapeIndexView index) const {
    int64_t position = index_.Find(index);
    return position < 0 ? end()
                        : const_iterator(&index_, nodes_.data(), position);
  }

  int64_t leaf_count() const { return std::distance(leaf_begin(), leaf_end()); }

  // Calls func(index, value) for every node, in pre-order, or (PostOrder) every
  // tuple after its elements. The first error ends a WithStatus walk.
  void ForEachElement(
      absl::FunctionRef<void(const ShapeIndex&, const T&)> func) const {
    for (const Node& node : nodes_) func(node.first, node.second);
  }
  void ForEachMutableElement(
      absl::FunctionRef<void(const ShapeIndex&, T*)> func) {
    for (Node& node : nodes_) func(node.first, &node.second);
  }
  absl::Status ForEachElementWithStatus(
      absl::FunctionRef<absl::Status(const ShapeIndex&, const T&)> func) const {
    for (const Node& node : nodes_) {
      absl::Status status = func(node.first, node.second);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }
  absl::Status ForEachMutableElementWithStatus(
      absl::FunctionRef<absl::Status(const ShapeIndex&, T*)> func) {
    for (Node& node : nodes_) {
      absl::Status status = func(node.first, &node.second);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }
  void ForEachElementPostOrder(
      absl::FunctionRef<void(const ShapeIndex&, const T&)> func) const {
    PostOrder(*this, 0, [&](const Node& node) {
      func(node.first, node.second);
      return absl::OkStatus();
    }).IgnoreError();
  }
  void ForEachMutableElementPostOrder(
      absl::FunctionRef<void(const ShapeIndex&, T*)> func) {
    PostOrder(*this, 0, [&](Node& node) {
      func(node.first, &node.second);
      return absl::OkStatus();
    }).IgnoreError();
  }
  absl::Status ForEachElementPostOrderWithStatus(
      absl::FunctionRef<absl::Status(const ShapeIndex&, const T&)> func) const {
    return PostOrder(*this, 0, [&](const Node& node) {
      return func(node.first, node.second);
    });
  }
  absl::Status ForEachMutableElementPostOrderWithStatus(
      absl::FunctionRef<absl::Status(const ShapeIndex&, T*)> func) {
    return PostOrder(
        *this, 0, [&](Node& node) { return func(node.first, &node.second); });
  }

  // A tree of the same shape with func applied to every value.
  template <typename U>
  ShapeTree<U> Map(absl::FunctionRef<U(const T&)> func) const {
    ShapeTree<U> result(shape_);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      result.nodes_[i].second = func(nodes_[i].second);
    }
    return result;
  }
  template <typename U>
  absl::StatusOr<ShapeTree<U>> MapWithStatus(
      absl::FunctionRef<absl::StatusOr<U>(const T&)> func) const {
    ShapeTree<U> result(shape_);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      absl::StatusOr<U> value = func(nodes_[i].second);
      if (!value.ok()) return value.status();
      result.nodes_[i].second = *std::move(value);
    }
    return result;
  }

  // Copies the values at and below `src_index` of `other` to those at and below
  // `dst_index`; the subshapes must have the same structure.
  void CopySubtreeFrom(const ShapeTree<T>& other, const ShapeIndex& src_index,
                       const ShapeIndex& dst_index) {
    const int64_t src = other.Position(src_index);
    const int64_t dst = Position(dst_index);
    const int64_t size = other.index_.SubtreeSize(src);
    CHECK(index_.SubtreeSize(dst) == size) << "subtrees differ in structure";
    for (int64_t i = 0; i < size; ++i) {
      nodes_[dst + i].second = other.nodes_[src + i].second;
    }
  }

  // A tree of the subshape at an index; InvalidArgument if there is none.
  absl::StatusOr<ShapeTree<T>> SubShapeTree(const ShapeIndex& index) const {
    absl::StatusOr<const Shape*> subshape =
        ShapeUtil::TryGetSubshape(*shape_, index);
    if (!subshape.ok()) return subshape.status();
    ShapeTree<T> result(**subshape);
    result.CopySubtreeFrom(*this, index, {});
    return result;
  }

  bool operator==(const ShapeTree<T>& other) const {
    return nodes_ == other.nodes_;
  }
  bool operator!=(const ShapeTree<T>& other) const { return !(*this == other); }

 private:
  template <typename U>
  friend class ShapeTree;

  // Iterates over all nodes, or over leaves only.
  template <typename NodePtr, bool kLeavesOnly>
  class Iterator {
   public:
    using iterator_category = std::bidirectional_iterator_tag;
    using value_type = Node;
    using difference_type = ptrdiff_t;
    using pointer = NodePtr;
    using reference = decltype(*std::declval<NodePtr>());

    Iterator() = default;
    Iterator(const internal::ShapeTreeIndex* index, NodePtr nodes,
             int64_t position)
        : index_(index), nodes_(nodes), position_(position) {
      SkipTuples();
    }
    // iterator converts to const_iterator.
    template <typename Other, typename = std::enable_if_t<
                                  std::is_convertible_v<Other, NodePtr>>>
    Iterator(const Iterator<Other, kLeavesOnly>& other)
        : index_(other.index_),
          nodes_(other.nodes_),
          position_(other.position_) {}

    Iterator& operator++() {
      ++position_;
      SkipTuples();
      return *this;
    }
    Iterator operator++(int) {
      Iterator old = *this;
      ++*this;
      return old;
    }
    Iterator& operator--() {
      do {
        --position_;
      } while (kLeavesOnly && position_ > 0 && !index_->IsLeaf(position_));
      return *this;
    }
    Iterator operator--(int) {
      Iterator old = *this;
      --*this;
      return old;
    }
    bool operator==(const Iterator& other) const {
      return nodes_ + position_ == other.nodes_ + other.position_;
    }
    bool operator!=(const Iterator& other) const { return !(*this == other); }
    reference operator*() const { return nodes_[position_]; }
    pointer operator->() const { return nodes_ + position_; }

   private:
    template <typename, bool>
    friend class Iterator;
    void SkipTuples() {
      if constexpr (kLeavesOnly) {
        while (position_ < index_->size() && !index_->IsLeaf(position_)) {
          ++position_;
        }
      }
    }
    const internal::ShapeTreeIndex* index_ = nullptr;
    NodePtr nodes_ = nullptr;
    int64_t position_ = 0;
  };

  // An empty owner, for borrowed shapes.
  static std::shared_ptr<const Shape> Unowned() { return nullptr; }

  template <typename... Init>
  explicit ShapeTree(std::shared_ptr<const Shape> shape, const Init&... init)
      : index_(*shape), shape_(std::move(shape)) {
    nodes_.reserve(index_.size());
    ShapeUtil::ForEachSubshape(
        *shape_, [&](const Shape&, const ShapeIndex& index) {
          nodes_.emplace_back(std::piecewise_construct,
                              std::forward_as_tuple(index),
                              std::forward_as_tuple(init...));
        });
  }

  int64_t Position(ShapeIndexView index) const {
    int64_t position = index_.Find(index);
    CHECK_GE(position, 0) << "no subshape at " << ShapeIndex(index) << " of "
                          << *shape_;
    return position;
  }

  // Tree is ShapeTree or const ShapeTree.
  template <typename Tree, typename Fn>
  static absl::Status PostOrder(Tree& tree, int64_t position, Fn&& fn) {
    const int64_t end = position + tree.index_.SubtreeSize(position);
    for (int64_t child = position + 1; child < end;
         child += tree.index_.SubtreeSize(child)) {
      absl::Status status = PostOrder(tree, child, fn);
      if (!status.ok()) return status;
    }
    return fn(tree.nodes_[position]);
  }

  internal::ShapeTreeIndex index_;
  Nodes nodes_;
  std::shared_ptr<const Shape> shape_;
};

}  // namespace xla

#endif  // XLA_SHAPE_TREE_H_
