#ifndef XLA_BACKENDS_GPU_LOWERING_KERNEL_FRAME_H_
#define XLA_BACKENDS_GPU_LOWERING_KERNEL_FRAME_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/lowering/element_emitter.h"
#include "xla/backends/gpu/lowering/kernel_builder.h"
#include "xla/backends/gpu/lowering/loop_lowering.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"

// The frame that all kinds of kernels have in common: parameters for the
// operands, for constants of several elements and for the results, and the
// threads that compute them. Parts of different kinds can follow one another in
// one kernel, each with its own results; all have the same threads.

namespace xla::gpu {

// Whether an element takes more than a few statements, or reads elements from
// all over the operands.
bool TakesALoop(const HloInstruction& hlo);

class KernelFrame {
 public:
  struct Result {
    const HloInstruction* hlo;  // computes it
    int64_t tuple_index;        // which element, if that is a tuple
    Shape shape;
    kir::BufferId buffer;
    int64_t array;  // its place in result_indices()
    // Which part of the complex numbers in the buffer; -1 for other types.
    int64_t part = -1;
  };

  // `hlo`: a fusion, or an instruction that becomes a kernel by itself.
  // `device_threads`: as of FusionLoweringOptions.
  static absl::StatusOr<std::unique_ptr<KernelFrame>> Make(
      const HloInstruction& hlo, int64_t threads, int64_t device_threads);

  KernelBuilder& builder() { return builder_; }
  ElementEmitter& emitter() { return emitter_; }
  int64_t threads() const { return threads_; }
  int64_t device_threads() const { return device_threads_; }
  const std::vector<Result>& results() const { return results_; }
  // Positions of the result's arrays in the kernel's result, and of the
  // operands' arrays in its operands.
  const std::vector<ShapeIndex>& result_indices() const {
    return lowered_.results;
  }
  const std::vector<LoweredKernel::OperandArray>& operand_arrays() const {
    return lowered_.operands;
  }
  // The instructions of the kernel, operands first.
  const std::vector<const HloInstruction*>& body() const { return body_; }

  // Writes that element of a result.
  absl::Status Store(const Result& result, const Indices& indices);
  // A part of the kernel: `blocks` blocks of all threads.
  absl::Status Blocks(int64_t blocks,
                      absl::FunctionRef<absl::Status(const AffineExpr& block,
                                                     const AffineExpr& thread)>
                          body);
  // Emits `body` under a condition that is 0 or 1, in its own scope.
  absl::Status Where(const AffineExpr& condition,
                     absl::FunctionRef<absl::Status()> body);
  // Emits `body` with names for the indices that a number stands for along
  // `dims` of an array; they are set in `places`.
  absl::Status Named(const Shape& shape, absl::Span<const int64_t> dims,
                     const AffineExpr& number, Indices* places,
                     absl::FunctionRef<absl::Status()> body);
  // Whether the result is that operand (by its number in the kernel) after a
  // dynamic-update-slice, or after a scatter that is not a search
  // (scatter_way.h).
  bool IsUpdate(const Result& result, int64_t operand) const;
  // A part with one thread per element of the update, which writes nothing else
  // of the result.
  absl::Status EmitUpdate(const Result& result);
  // How many results, from the first of these on, one loop computes together:
  // of the same elements as far as shapes tell, both parts of complex numbers
  // among them. Those have the first one's dimensions and its neighbors in
  // memory, in rows that may lie in another order, or else its extents in
  // memory, as bitcasts of it do.
  static int64_t Together(absl::Span<const Result* const> results);
  // A part with one thread per element of results that are computed together,
  // or per several: neighbors, which it reads and writes at once, or, where no
  // vector has them, elements as far apart as the block has threads, all of
  // which it reads before it writes any. Returns the number of neighbors, or 1.
  // A thread has one element if there are few threads, or if an element takes a
  // loop.
  absl::StatusOr<int64_t> EmitLoop(absl::Span<const Result* const> results);

  absl::StatusOr<LoweredKernel> Finish();

 private:
  KernelFrame(const std::string& name, int64_t threads, int64_t device_threads)
      : builder_(name),
        emitter_(&builder_),
        threads_(threads),
        device_threads_(device_threads) {}
  // `shape`: that of the result before complex numbers were split.
  absl::Status AddArrays(const HloInstruction& hlo, const Shape& shape);
  absl::Status AddResults(const HloInstruction& hlo, const HloInstruction& root,
                          const Shape& shape);
  absl::StatusOr<kir::Operand> Value(const Result& result,
                                     const Indices& indices);
  void Write(const Result& result, const Indices& indices,
             const kir::Operand& value);
  // How many elements a thread may have, by their bytes; 1: no more than one.
  int64_t ElementsOfThread(absl::Span<const Result* const> results) const;
  absl::Status EmitNeighbors(absl::Span<const Result* const> results,
                             int64_t width);
  absl::Status EmitRounds(absl::Span<const Result* const> results,
                          int64_t rounds);
  // A loop over the bytes of a result whose elements share them.
  absl::Status EmitPacked(const Result& result);
  absl::Status EmitScatter(const Result& result);
  absl::Status EmitScatterUpdate(const Result& result, const Indices& indices);
  absl::Status EmitScatterInOrder(const Result& result);
  // Whether a block reads the updates together (ScatterTile), and that part.
  bool IsSearchOfBlock(const Result& result) const;
  absl::Status EmitSearchOfBlock(const Result& result);
  // Emits `body` with the number of each of `count` places, one per thread.
  absl::Status Numbers(int64_t count,
                       absl::FunctionRef<absl::Status(const AffineExpr&)> body);

  KernelBuilder builder_;
  ElementEmitter emitter_;
  const int64_t threads_, device_threads_;
  int64_t blocks_ = 1;
  std::vector<Result> results_;
  std::vector<const HloInstruction*> body_;
  LoweredKernel lowered_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_KERNEL_FRAME_H_
