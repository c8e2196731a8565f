#ifndef XLA_BACKENDS_GPU_SMEM_BASELINE_ASYNC_STATEMENTS_H_
#define XLA_BACKENDS_GPU_SMEM_BASELINE_ASYNC_STATEMENTS_H_

#include "xla/backends/gpu/kernel_ir/kernel.h"

namespace xla::gpu {

// Closes the group of the copies of `kind` that the thread has started.
inline kir::Async CommitOf(kir::AsyncKind kind) {
  kir::Async async;
  async.op = kir::Async::Op::kCommit;
  async.kind = kind;
  return async;
}

// Waits until at most the `keep` youngest of the thread's groups are in flight.
inline kir::Async WaitOf(kir::AsyncKind kind, int keep) {
  kir::Async async;
  async.op = kir::Async::Op::kWait;
  async.kind = kind;
  async.keep = keep;
  return async;
}

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_SMEM_BASELINE_ASYNC_STATEMENTS_H_
