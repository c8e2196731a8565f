// Code written against OpenXLA's buffer_assignment.h names heaps and logical
// buffers without including more: this file includes nothing else on purpose.
#include "gtest/gtest.h"
#include "xla/service/buffer_assignment.h"

namespace xla {
namespace {

TEST(CompatIncludesTest, BufferAssignmentBringsHeapsAndLogicalBuffers) {
  const LogicalBuffer::AlignmentFunction alignment =
      [](LogicalBuffer::Color color) { return color == 0 ? 64 : 8; };
  EXPECT_EQ(alignment(0), 64);
  GlobalDecreasingSizeBestFitHeap<HloValue> heap(alignment(0));
  EXPECT_EQ(heap.Finish()->heap_size, 0);
}

}  // namespace
}  // namespace xla
