#ifndef XLA_BACKENDS_GPU_SMEM_PLAN_REGISTER_SLOTS_H_
#define XLA_BACKENDS_GPU_SMEM_PLAN_REGISTER_SLOTS_H_

#include <cstdint>
#include <vector>

#include "xla/backends/gpu/kernel_ir/kernel.h"

// Arrays in registers that live at different times share one slot.
//
//   alloc %T1 : local f32[4]            alloc %T1 : local f32[4]
//   alloc %T2 : local f32[4]      ->    alloc %T2 : local f32[4] alias %T1
//   alloc %T4 : local f32[4]            alloc %T4 : local f32[4] alias %T1
//   T1; P = f(T1); T2 = g(P); T3 = h(T2); T4 = k(T3); … = T4
//
// A slot is a set of any number of arrays (stack_alias.h stops at one hop); all
// are references to the one allocated first. They have the same element type;
// the first one is at least as large as any other (sizes in normal form, so
// f32[H, W] is as large as f32[W, H]), is visible where the others are
// allocated, and has vectors as wide as theirs. An array that does not fit is
// passed over for the next one.
//
// Live ranges are positions of statements (kernel_positions.h) from the first
// to the last access, extended over every loop around that may repeat, unless
// all accesses are in the loop and each read finds what the same iteration
// wrote: a write of the same elements that surely runs, by the threads that
// read. An array that is read before it is so written, or that a reduction
// starts from its identity, lives from its allocation on and is not made a
// reference to another.
//
// No barrier matters, since a thread has registers of its own. Arrays of one
// element are left to the compiler; so are those with an alias. Slots are
// filled in order of first access, the smallest suitable one first: optimal
// where all sizes are equal (interval graphs). O(arrays^2 + accesses^2).

namespace xla::gpu {

struct RegisterSlots {
  int arrays = 0, slots = 0;
  int64_t bytes_before = 0, bytes_after = 0;  // of a thread, where known
  std::vector<kir::BufferId> aliases;         // those that have one now
};

// Sets Buffer::alias of `kernel`. Symbols count with their bindings in the
// bytes reported, and not in what is decided.
RegisterSlots AssignRegisterSlots(kir::Kernel& kernel);

// The live range of an array in registers, closed; first > last if nothing
// touches it, and for all other arrays. For reports.
struct RegisterLife {
  int first = 0, last = -1;
};
std::vector<RegisterLife> ComputeRegisterLives(const kir::Kernel& kernel);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_SMEM_PLAN_REGISTER_SLOTS_H_
