#ifndef XLA_HLO_ANALYSIS_BUFFERS_SCRATCH_LAYOUT_H_
#define XLA_HLO_ANALYSIS_BUFFERS_SCRATCH_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "xla/hlo/analysis/buffer_value.h"

namespace xla {

// Which block of memory each of several pieces goes to, and where in it.
struct ScratchLayout {
  struct Piece {
    BufferValue::Color color = 0;
    int64_t size = 0;  // bytes
  };
  struct Block {
    BufferValue::Color color = 0;
    int64_t page = 0;     // its number among the blocks of its color
    int64_t size = 0;     // bytes
    int64_t padding = 0;  // bytes of it that belong to no piece
  };
  struct Place {
    int64_t block = 0;  // an index of `blocks`
    int64_t base = 0;   // bytes from its start
  };
  std::vector<Block> blocks;
  std::vector<Place> places;  // by piece
};

// Puts pieces into blocks of their color, each at a multiple of the color's
// alignment (bytes). A block has at most `limit` bytes, padding included, or
// one piece. A piece goes to the end of the block with the least room that it
// fits into, and only if there is none into a block of its own; the first piece
// of a color is at the start of that color's first block.
//
//   50, 30, 20 bytes aligned to 64, limit 128 → 50 and 30 at 64; 20
//
// O(pieces log blocks).
ScratchLayout LayOutScratch(absl::Span<const ScratchLayout::Piece> pieces,
                            const BufferValue::AlignmentFunction& alignment,
                            int64_t limit);

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_BUFFERS_SCRATCH_LAYOUT_H_
