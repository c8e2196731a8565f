#ifndef XLA_COMPAT_INCLUDE_XLA_TSL_LIB_GTL_MAP_UTIL_H_
#define XLA_COMPAT_INCLUDE_XLA_TSL_LIB_GTL_MAP_UTIL_H_

// OpenXLA's path of this header, for code from outside.
// Look-ups in maps that do not insert, and one that does.

namespace tsl {
namespace gtl {

template <typename Map, typename Key, typename Value>
typename Map::value_type::second_type FindWithDefault(const Map& map,
                                                      const Key& key,
                                                      const Value& value) {
  const auto found = map.find(key);
  return found == map.end() ? typename Map::value_type::second_type(value)
                            : found->second;
}

// Null where there is none.
template <typename Map, typename Key>
const typename Map::value_type::second_type* FindOrNull(const Map& map,
                                                        const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}
template <typename Map, typename Key>
typename Map::value_type::second_type* FindOrNull(Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

template <typename Map, typename Key, typename Value>
bool InsertOrUpdate(Map* map, const Key& key, const Value& value) {
  const auto [entry, is_new] = map->emplace(key, value);
  if (!is_new) entry->second = value;
  return is_new;
}

template <typename Map, typename Key, typename Value>
bool InsertIfNotPresent(Map* map, const Key& key, const Value& value) {
  return map->emplace(key, value).second;
}

// The value of the key, which is `value` if there was none.
template <typename Map, typename Key, typename Value>
typename Map::value_type::second_type& LookupOrInsert(Map* map, const Key& key,
                                                      const Value& value) {
  return map->emplace(key, value).first->second;
}

}  // namespace gtl
}  // namespace tsl

#endif  // XLA_COMPAT_INCLUDE_XLA_TSL_LIB_GTL_MAP_UTIL_H_
