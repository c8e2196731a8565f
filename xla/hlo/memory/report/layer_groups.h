#ifndef XLA_HLO_MEMORY_REPORT_LAYER_GROUPS_H_
#define XLA_HLO_MEMORY_REPORT_LAYER_GROUPS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/byte_size.h"
#include "xla/hlo/memory/report/layer_name.h"

namespace xla {

// Buffers of one kind and shape that equal layers of the model made.
//
//   16.0 KiB  %silu.3  f32[2,64], jit(f)/layer_0/silu
//   16.0 KiB  %silu.7  f32[2,64], jit(f)/layer_1/silu
//   → 32.0 KiB  2 x 16.0 KiB  f32[2,64], layer_*
//
// Buffer: a message with name, opcode, shape, bytes, op_name and source.
template <typename Buffer>
struct LayerGroup {
  const Buffer* first;
  std::string layer;
  bool one_source = true;
  int count = 0;
  double bytes = 0;

  // "2 x 16.0 KiB" if there are several, otherwise "%" and the name.
  std::string Members() const {
    return count > 1 ? absl::StrCat(count, " x ", HumanBytes(first->bytes()))
                     : absl::StrCat("%", first->name());
  }
};

// Most bytes first, equal ones in the order of their first buffers. The groups
// point into `buffers`, a repeated field. O(buffers log buffers).
template <typename Buffer, typename Buffers>
std::vector<LayerGroup<Buffer>> GroupByLayer(
    const Buffers& buffers,
    absl::FunctionRef<std::string(const Buffer&)> kind_of) {
  std::map<std::array<std::string, 3>, size_t> indices;
  std::vector<LayerGroup<Buffer>> groups;
  for (const Buffer& buffer : buffers) {
    std::string layer = LayerName(buffer.op_name());
    if (layer.empty()) layer = buffer.opcode();
    const auto [it, is_new] = indices.emplace(
        std::array<std::string, 3>{layer, kind_of(buffer), buffer.shape()},
        groups.size());
    if (is_new) groups.push_back({&buffer, std::move(layer)});
    LayerGroup<Buffer>& group = groups[it->second];
    group.one_source &= buffer.source() == group.first->source();
    ++group.count;
    group.bytes += buffer.bytes();
  }
  std::stable_sort(
      groups.begin(), groups.end(),
      [](const LayerGroup<Buffer>& a, const LayerGroup<Buffer>& b) {
        return a.bytes > b.bytes;
      });
  return groups;
}

// The name with "..." for its middle where it is long: transformations of JAX
// stand at the beginning, layer and operation at the end. Characters of several
// bytes of UTF-8 stay whole.
inline std::string ShortOpName(absl::string_view op_name) {
  constexpr size_t kBegin = 32, kEnd = 85;
  if (op_name.size() <= kBegin + kEnd + 3) return std::string(op_name);
  const auto continues = [&](size_t i) {
    return i < op_name.size() && (op_name[i] & 0xc0) == 0x80;
  };
  size_t begin = kBegin, end = op_name.size() - kEnd;
  while (begin > 0 && continues(begin)) --begin;
  while (continues(end)) ++end;
  return absl::StrCat(op_name.substr(0, begin), "...", op_name.substr(end));
}

// "op_name, source", or the one that there is; the name shortened.
inline std::string PlaceText(absl::string_view op_name,
                             absl::string_view source) {
  return absl::StrCat(ShortOpName(op_name),
                      op_name.empty() || source.empty() ? "" : ", ", source);
}

// Where a group was made: the place of its only buffer, or the layer, with the
// source line if all have the same.
template <typename Buffer>
std::string PlaceOf(const LayerGroup<Buffer>& group) {
  const Buffer& first = *group.first;
  return group.count == 1
             ? PlaceText(first.op_name(), first.source())
             : PlaceText(group.layer, group.one_source ? first.source() : "");
}

}  // namespace xla

#endif  // XLA_HLO_MEMORY_REPORT_LAYER_GROUPS_H_
