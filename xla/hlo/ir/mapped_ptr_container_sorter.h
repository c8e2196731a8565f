#ifndef XLA_HLO_IR_MAPPED_PTR_CONTAINER_SORTER_H_
#define XLA_HLO_IR_MAPPED_PTR_CONTAINER_SORTER_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace xla {

// Sorts a container of pointers into the order of another one.
//
// Copies of a graph are made operands first, so lists of users may be in
// another order than in the original. With `map_ptr` from an element of
// `ordered` to its copy (null if it has none), Sort reorders `unordered` so
// that copies are in the order of their originals; elements that are not copies
// follow in their present order. Linear time apart from hashing.
template <typename T>
class MappedPtrContainerSorter {
 public:
  using MapPtrFn = absl::FunctionRef<const T*(const T*)>;

  template <typename OrderedContainer, typename UnorderedContainer>
  static absl::Status Sort(MapPtrFn map_ptr, const OrderedContainer& ordered,
                           UnorderedContainer& unordered) {
    absl::flat_hash_map<const T*, size_t> rank;
    rank.reserve(ordered.size());
    for (const auto& element : ordered) {
      if (const T* copy = map_ptr(Get(element))) {
        rank.emplace(copy, rank.size());
      }
    }
    auto rank_of = [&](const auto& element) {
      auto it = rank.find(Get(element));
      return it == rank.end() ? rank.size() : it->second;
    };
    std::stable_sort(
        unordered.begin(), unordered.end(),
        [&](const auto& a, const auto& b) { return rank_of(a) < rank_of(b); });
    return absl::OkStatus();
  }

 private:
  static const T* Get(const T* p) { return p; }
  static const T* Get(const std::unique_ptr<T>& p) { return p.get(); }
};

}  // namespace xla

#endif  // XLA_HLO_IR_MAPPED_PTR_CONTAINER_SORTER_H_
