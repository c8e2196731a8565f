#ifndef XLA_MAP_UTIL_H_
#define XLA_MAP_UTIL_H_

#include <functional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Look-up and insertion in maps and sets with the usual interface.

namespace xla {

// The value of a key that must be present.
template <class Collection>
const typename Collection::value_type::second_type& FindOrDie(
    const Collection& collection,
    const typename Collection::value_type::first_type& key) {
  auto it = collection.find(key);
  CHECK(it != collection.end()) << "Map key not found";
  return it->second;
}
template <class Collection>
typename Collection::value_type::second_type& FindOrDie(
    Collection& collection,
    const typename Collection::value_type::first_type& key) {
  auto it = collection.find(key);
  CHECK(it != collection.end()) << "Map key not found";
  return it->second;
}

// The value of the key, or NotFound.
template <class Collection>
absl::StatusOr<
    std::reference_wrapper<const typename Collection::value_type::second_type>>
MaybeFind(const Collection& collection,
          const typename Collection::value_type::first_type& key) {
  auto it = collection.find(key);
  if (it == collection.end()) return absl::NotFoundError("Map key not found");
  return std::cref(it->second);
}

// The value of the key, or `value`, which must outlive the result.
template <class Collection>
const typename Collection::value_type::second_type& FindOrDefault(
    const Collection& collection,
    const typename Collection::value_type::first_type& key,
    const typename Collection::value_type::second_type& value) {
  auto it = collection.find(key);
  return it == collection.end() ? value : it->second;
}

// Inserts a key, or an element of a set, that must be absent.
template <typename Collection, typename Key, typename Value>
void InsertOrDie(Collection* const collection, Key&& key, Value&& value) {
  auto result = collection->insert(typename Collection::value_type(
      std::forward<Key>(key), std::forward<Value>(value)));
  CHECK(result.second) << "duplicate key";
}
template <typename Set, typename Value>
void InsertOrDie(Set* const set, Value&& value) {
  CHECK(set->insert(std::forward<Value>(value)).second) << "duplicate value";
}

template <class Collection, class Key>
bool ContainsKey(const Collection& collection, const Key& key) {
  return collection.find(key) != collection.end();
}

// Predicates for algorithms. The container must outlive them.
template <typename Key, typename Value>
auto IsKeyIn(const absl::flat_hash_map<Key, Value>& map) {
  return [&map](const Key& key) { return map.contains(key); };
}
template <typename T>
auto IsValueIn(const absl::flat_hash_set<T>& set) {
  return [&set](const T& value) { return set.contains(value); };
}

}  // namespace xla

#endif  // XLA_MAP_UTIL_H_
