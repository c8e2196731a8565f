#include "xla/strided_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "absl/container/inlined_vector.h"
#include "absl/log/check.h"
#include "absl/types/span.h"

namespace xla {
namespace {

// One loop of the nest: `size` steps of `a` and `b` elements.
struct Loop {
  int64_t size;
  int64_t a;
  int64_t b;
};
using Loops = absl::InlinedVector<Loop, 8>;

// The nest of a box, innermost (smallest stride of `a`) first. Loops of size 1
// are dropped, and loops that step both sides contiguously are merged.
Loops MakeLoops(absl::Span<const int64_t> a_strides,
                absl::Span<const int64_t> b_strides,
                absl::Span<const int64_t> dims) {
  Loops loops;
  // Later dimensions first, which is the order of descending layouts.
  for (int64_t d = static_cast<int64_t>(dims.size()) - 1; d >= 0; --d) {
    if (dims[d] != 1) loops.push_back({dims[d], a_strides[d], b_strides[d]});
  }
  std::stable_sort(loops.begin(), loops.end(),
                   [](const Loop& x, const Loop& y) { return x.a < y.a; });
  Loops merged;
  for (const Loop& loop : loops) {
    if (!merged.empty()) {
      Loop& inner = merged.back();
      if (loop.a == inner.a * inner.size && loop.b == inner.b * inner.size) {
        inner.size *= loop.size;
        continue;
      }
    }
    merged.push_back(loop);
  }
  return merged;
}

// Calls `body(a_offset, b_offset)` for each position of `loops[first..]`.
// Stops when it returns false.
template <typename Body>
bool ForEachOuter(const Loops& loops, size_t first, const Body& body) {
  absl::InlinedVector<int64_t, 8> at(loops.size(), 0);
  int64_t a = 0;
  int64_t b = 0;
  while (true) {
    if (!body(a, b)) return false;
    size_t k = first;
    for (; k < loops.size(); ++k) {
      a += loops[k].a;
      b += loops[k].b;
      if (++at[k] < loops[k].size) break;
      a -= loops[k].a * loops[k].size;
      b -= loops[k].b * loops[k].size;
      at[k] = 0;
    }
    if (k >= loops.size()) return true;
  }
}

template <typename T>
void CopyRow(T* dest, int64_t dest_stride, const T* src, int64_t src_stride,
             int64_t size) {
  if (dest_stride == 1 && src_stride == 1) {
    std::memcpy(static_cast<void*>(dest), src, size * sizeof(T));
  } else if (dest_stride == 1 && src_stride == 0) {
    std::fill_n(dest, size, *src);
  } else {
    for (int64_t i = 0; i < size; ++i) {
      dest[i * dest_stride] = src[i * src_stride];
    }
  }
}

// Copies two loops of which the first is contiguous in dest and the second in
// src, in tiles that keep the touched lines of both sides in the cache.
template <typename T>
void CopyTransposed(T* dest, const T* src, const Loop& row,
                    const Loop& column) {
  constexpr int64_t kTile = 32;
  for (int64_t i = 0; i < column.size; i += kTile) {
    const int64_t i_end = std::min(i + kTile, column.size);
    for (int64_t j = 0; j < row.size; j += kTile) {
      const int64_t j_end = std::min(j + kTile, row.size);
      for (int64_t ii = i; ii < i_end; ++ii) {
        for (int64_t jj = j; jj < j_end; ++jj) {
          dest[ii * column.a + jj * row.a] = src[ii * column.b + jj * row.b];
        }
      }
    }
  }
}

// The inner loop runs along the destination. If the source jumps there and is
// contiguous along another loop, as in a transpose, each line of the source
// would be fetched again for each of its elements; those two loops are tiled
// instead.
template <typename T>
void Copy(T* dest, const T* src, Loops loops) {
  if (loops.empty()) {
    *dest = *src;
    return;
  }
  if (loops.size() >= 2 && loops[0].b != 1 && loops[0].b != 0) {
    for (size_t k = 1; k < loops.size(); ++k) {
      if (loops[k].b != 1) continue;
      std::swap(loops[1], loops[k]);
      const Loop row = loops[0];
      const Loop column = loops[1];
      ForEachOuter(loops, 2, [&](int64_t a, int64_t b) {
        CopyTransposed(dest + a, src + b, row, column);
        return true;
      });
      return;
    }
  }
  const Loop row = loops[0];
  ForEachOuter(loops, 1, [&](int64_t a, int64_t b) {
    CopyRow(dest + a, row.a, src + b, row.b, row.size);
    return true;
  });
}

template <typename T>
bool Equal(const T* lhs, const T* rhs, const Loops& loops) {
  if (loops.empty()) return std::memcmp(lhs, rhs, sizeof(T)) == 0;
  const Loop row = loops[0];
  return ForEachOuter(loops, 1, [&](int64_t a, int64_t b) {
    if (row.a == 1 && row.b == 1) {
      return std::memcmp(lhs + a, rhs + b, row.size * sizeof(T)) == 0;
    }
    for (int64_t i = 0; i < row.size; ++i) {
      if (!(lhs[a + i * row.a] == rhs[b + i * row.b])) return false;
    }
    return true;
  });
}

struct Bytes16 {
  uint64_t low;
  uint64_t high;
  bool operator==(const Bytes16& other) const {
    return low == other.low && high == other.high;
  }
};

// Calls `f` with a null pointer to an unsigned type of the width.
template <typename F>
auto WithWidth(int64_t element_bytes, const F& f) {
  switch (element_bytes) {
    case 1:
      return f(static_cast<uint8_t*>(nullptr));
    case 2:
      return f(static_cast<uint16_t*>(nullptr));
    case 4:
      return f(static_cast<uint32_t*>(nullptr));
    case 8:
      return f(static_cast<uint64_t*>(nullptr));
    default:
      CHECK_EQ(element_bytes, 16);
      return f(static_cast<Bytes16*>(nullptr));
  }
}

bool IsEmpty(absl::Span<const int64_t> dims) {
  return std::find(dims.begin(), dims.end(), 0) != dims.end();
}

}  // namespace

void CopyStridedBox(char* dest, absl::Span<const int64_t> dest_strides,
                    const char* src, absl::Span<const int64_t> src_strides,
                    absl::Span<const int64_t> dims, int64_t element_bytes) {
  if (IsEmpty(dims)) return;
  WithWidth(element_bytes, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    Copy(reinterpret_cast<T*>(dest), reinterpret_cast<const T*>(src),
         MakeLoops(dest_strides, src_strides, dims));
  });
}

bool EqualStridedBox(const char* lhs, absl::Span<const int64_t> lhs_strides,
                     const char* rhs, absl::Span<const int64_t> rhs_strides,
                     absl::Span<const int64_t> dims, int64_t element_bytes) {
  if (IsEmpty(dims)) return true;
  return WithWidth(element_bytes, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    return Equal(reinterpret_cast<const T*>(lhs),
                 reinterpret_cast<const T*>(rhs),
                 MakeLoops(lhs_strides, rhs_strides, dims));
  });
}

}  // namespace xla
