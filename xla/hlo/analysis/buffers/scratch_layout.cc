#include "xla/hlo/analysis/buffers/scratch_layout.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>

#include "absl/types/span.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/util.h"

namespace xla {

ScratchLayout LayOutScratch(absl::Span<const ScratchLayout::Piece> pieces,
                            const BufferValue::AlignmentFunction& alignment,
                            int64_t limit) {
  ScratchLayout layout;
  std::map<BufferValue::Color, int64_t> num_pages;
  // Color, bytes left where the next piece would begin, block.
  std::set<std::tuple<BufferValue::Color, int64_t, int64_t>> rooms;
  for (const auto& [color, size] : pieces) {
    int64_t index = static_cast<int64_t>(layout.blocks.size());
    auto room = rooms.lower_bound({color, size, 0});
    if (room != rooms.end() && std::get<0>(*room) == color) {
      index = std::get<2>(*room);
      rooms.erase(room);
    } else {
      layout.blocks.push_back({color, num_pages[color]++, 0, 0});
    }
    ScratchLayout::Block& block = layout.blocks[index];
    const int64_t unit = std::max<int64_t>(1, alignment(color));
    const int64_t base = RoundUpTo(block.size, unit);
    layout.places.push_back({index, base});
    block.padding += base - block.size;
    block.size = base + size;
    const int64_t left = limit - RoundUpTo(block.size, unit);
    if (left > 0) rooms.insert({color, left, index});
  }
  return layout;
}

}  // namespace xla
