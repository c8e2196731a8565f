#ifndef XLA_HLO_ANALYSIS_BUFFERS_BUFFER_ALLOCATION_H_
#define XLA_HLO_ANALYSIS_BUFFERS_BUFFER_ALLOCATION_H_

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/service/buffer_assignment.pb.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {

// A block of memory of one color (memory space) that values are put into.
class BufferAllocation {
 public:
  using Index = int64_t;

  BufferAllocation(Index index, int64_t size, BufferValue::Color color)
      : index_(index), size_(size), color_(color) {}

  // Its number in BufferAssignment::Allocations().
  Index index() const { return index_; }
  int64_t size() const { return size_; }  // bytes
  BufferValue::Color color() const { return color_; }
  void set_color(BufferValue::Color color) { color_ = color; }
  // The number of the block among those of its color, if the memory of a
  // color is split (see BufferAssigner).
  int64_t page_id() const { return page_id_; }
  void set_page_id(int64_t page) { page_id_ = page; }

  // Memory of a computation that may run many times concurrently, such as a
  // reducer.
  bool is_thread_local() const { return is_thread_local_; }
  void set_is_thread_local(bool value) { is_thread_local_ = value; }

  // Whether it holds nothing but tables of pointers of tuples.
  bool is_tuple() const { return is_tuple_; }
  void set_is_tuple(bool value) { is_tuple_ = value; }

  // Whether the memory of dead values may be reused for others.
  bool is_reusable() const {
    return !is_thread_local_ && !is_tuple_ && !is_constant_;
  }
  bool is_readonly() const {
    return is_constant_ || (is_entry_computation_parameter() &&
                            !parameter_aliased_with_output_);
  }

  // A parameter of the entry computation, at an index of its shape.
  bool is_entry_computation_parameter() const {
    return parameter_number_.has_value();
  }
  bool is_parameter_aliased_with_output() const {
    return parameter_aliased_with_output_;
  }
  // It must be a parameter.
  int64_t parameter_number() const { return *parameter_number_; }
  const ShapeIndex& param_shape_index() const { return param_shape_index_; }
  void set_entry_computation_parameter(int64_t parameter_number,
                                       ShapeIndex param_shape_index,
                                       bool parameter_aliased_with_output) {
    parameter_number_ = parameter_number;
    param_shape_index_ = std::move(param_shape_index);
    parameter_aliased_with_output_ = parameter_aliased_with_output;
  }

  bool is_constant() const { return is_constant_; }
  void set_constant(bool value) { is_constant_ = value; }

  // Whether it holds, or may hold, part of the module's result.
  bool maybe_live_out() const { return maybe_live_out_; }
  void set_maybe_live_out(bool value) { maybe_live_out_ = value; }

  bool IsInputOrOutput() const {
    return is_entry_computation_parameter() || maybe_live_out_;
  }
  // Scratch memory.
  bool IsPreallocatedTempBuffer() const {
    return !IsInputOrOutput() && !is_thread_local_ && !is_constant_;
  }

  struct OffsetSize {
    int64_t offset = 0;  // bytes
    int64_t size = 0;    // bytes
  };
  const absl::flat_hash_map<const HloValue*, OffsetSize>& assigned_buffers()
      const {
    return assigned_buffers_;
  }
  // The same by id.
  std::vector<std::pair<const HloValue*, OffsetSize>> SortedBuffers() const;

  // Bytes [offset, offset + size) of an allocation.
  class Slice {
   public:
    Slice() = default;
    Slice(const BufferAllocation* allocation, int64_t offset, int64_t size,
          PrimitiveType element_type = PRIMITIVE_TYPE_INVALID)
        : allocation_(allocation),
          offset_(offset),
          size_(size),
          element_type_(element_type) {}

    const BufferAllocation* allocation() const { return allocation_; }
    // -1 for the empty slice.
    Index index() const {
      return allocation_ == nullptr ? -1 : allocation_->index();
    }
    int64_t offset() const { return offset_; }
    int64_t size() const { return size_; }
    PrimitiveType element_type() const { return element_type_; }

    bool OverlapsWith(const Slice& other) const {
      return index() == other.index() &&
             offset_ < other.offset_ + other.size_ &&
             other.offset_ < offset_ + size_;
    }
    bool Contains(const Slice& other) const {
      return index() == other.index() && offset_ <= other.offset_ &&
             other.offset_ + other.size_ <= offset_ + size_;
    }

    bool operator==(const Slice& other) const { return Key() == other.Key(); }
    bool operator!=(const Slice& other) const { return Key() != other.Key(); }
    bool operator<(const Slice& other) const { return Key() < other.Key(); }
    template <typename H>
    friend H AbslHashValue(H h, const Slice& s) {
      return H::combine(std::move(h), s.index(), s.offset_, s.size_);
    }

    // `{index:3, offset:128, size:64}`
    std::string ToString() const;
    template <typename Sink>
    friend void AbslStringify(Sink& sink, const Slice& slice) {
      sink.Append(slice.ToString());
    }
    // FailedPrecondition for the empty slice.
    absl::StatusOr<buffer_assignment::BufferAllocationSliceProto> ToProto()
        const;
    // A slice of the allocation at the proto's index; OutOfRange if there is
    // none or the slice is not inside it.
    static absl::StatusOr<Slice> FromProto(
        const buffer_assignment::BufferAllocationSliceProto& proto,
        absl::Span<const BufferAllocation> buffer_allocations);

   private:
    std::tuple<Index, int64_t, int64_t> Key() const {
      return {index(), offset_, size_};
    }

    const BufferAllocation* allocation_ = nullptr;
    int64_t offset_ = 0;
    int64_t size_ = 0;
    PrimitiveType element_type_ = PRIMITIVE_TYPE_INVALID;
  };

  // The value must be in it.
  Slice GetSlice(const HloValue& buffer) const;

  // size() minus the most bytes of it live at one time.
  int64_t fragmentation_bytes() const { return fragmentation_bytes_; }
  void set_fragmentation_bytes(int64_t bytes) { fragmentation_bytes_ = bytes; }

  // How its values were packed, for allocations with more than one.
  void AddHeapTrace(const HeapSimulatorTrace& heap_trace) {
    heap_traces_.push_back(heap_trace);
    heap_traces_.back().set_buffer_allocation_index(index_);
  }
  const std::vector<HeapSimulatorTrace>& HeapTraces() const {
    return heap_traces_;
  }
  // The values live when most of it is in use, by id. Without live ranges only
  // the largest value, among equal ones the last.
  const std::vector<const HloValue*>& PeakMemoryLogicalBuffers() const {
    return peak_buffers_;
  }
  // Values whose color differs from its own, by id.
  std::vector<const HloValue*> CrossColorBuffers() const;

  // One line that describes it; the same with its values, one a line; only
  // these.
  std::string ToShortString(bool human_readable_size = false) const;
  std::string ToString() const;
  std::string ValuesToString() const;
  // Its largest values: those of at least `percentile` of its size and, of the
  // others, as many as make `more_than_k`; a line each after `prefix`.
  std::string MemoryUsageReport(const std::string& prefix,
                                float percentile = 0.05,
                                int64_t more_than_k = 50,
                                bool print_shape_layout = false) const;
  BufferAllocationProto ToProto() const;
  // Without its values, which BufferAssignment::FromProto adds.
  static BufferAllocation FromProto(const BufferAllocationProto& proto);

  bool operator==(const BufferAllocation& other) const {
    return index_ == other.index_;
  }
  bool operator!=(const BufferAllocation& other) const {
    return index_ != other.index_;
  }
  bool operator<(const BufferAllocation& other) const {
    return index_ < other.index_;
  }

 private:
  friend class BufferAssignment;

  void AddAssignment(const HloValue& value, int64_t offset, int64_t size) {
    assigned_buffers_[&value] = {offset, size};
  }

  Index index_;
  int64_t size_;
  BufferValue::Color color_;
  int64_t page_id_ = 0;
  bool is_thread_local_ = false;
  bool is_tuple_ = false;
  bool is_constant_ = false;
  bool maybe_live_out_ = false;
  bool parameter_aliased_with_output_ = false;
  std::optional<int64_t> parameter_number_;
  ShapeIndex param_shape_index_;
  int64_t fragmentation_bytes_ = 0;
  absl::flat_hash_map<const HloValue*, OffsetSize> assigned_buffers_;
  std::vector<HeapSimulatorTrace> heap_traces_;
  std::vector<const HloValue*> peak_buffers_;
};

std::ostream& operator<<(std::ostream& out, const BufferAllocation& buffer);
std::ostream& operator<<(std::ostream& out,
                         const BufferAllocation::Slice& slice);

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_BUFFERS_BUFFER_ALLOCATION_H_
