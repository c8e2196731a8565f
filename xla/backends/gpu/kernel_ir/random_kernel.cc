#include "xla/backends/gpu/kernel_ir/random_kernel.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"

namespace xla::gpu {
namespace {

using Body = std::vector<kir::Statement>;

// Generates kernels for tests of the shared memory planner: shared buffers are
// written as a whole and read in parts, by the same or by other threads, within
// nested loops, between barriers at random places. A buffer is only read after
// it has been written, so that the kernels make sense; whether they are free of
// races is left to chance, or to the planner that inserts barriers.
class Maker {
 public:
  Maker(uint64_t seed, const RandomKernelOptions& options)
      : options_(options), random_(seed * 0x9e3779b97f4a7c15 + 1) {}

  kir::Kernel Make(uint64_t seed) {
    kernel_.name = absl::StrCat("random", seed);
    const int sizes[] = {1, 8, 32, 64, 64};
    threads_ = options_.chain ? options_.max_threads
                              : std::min(sizes[Pick(5)], options_.max_threads);
    kir::Launch launch;
    launch.grid = {1, 1, 1};
    launch.block = {threads_, 1, 1};
    kernel_.launch = launch;
    in_ = AddBuffer("in", kir::Memory::kGlobal, kir::ElementType::kF32, 64);
    out_ = AddBuffer("out", kir::Memory::kGlobal, kir::ElementType::kF32, 64);
    kernel_.buffers[in_].is_param = kernel_.buffers[out_].is_param = true;
    register_ = AddBuffer("r", kir::Memory::kLocal, kir::ElementType::kF32, 1);
    const int n =
        options_.chain ? options_.max_buffers : 1 + Pick(options_.max_buffers);
    const kir::ElementType types[] = {
        kir::ElementType::kF32, kir::ElementType::kF32, kir::ElementType::kF16,
        kir::ElementType::kU8, kir::ElementType::kF64};
    for (int b = 0; b < n; ++b) {
      per_thread_.push_back(1 + Pick(4));
      shared_.push_back(
          AddBuffer(absl::StrCat("S", b), kir::Memory::kShared,
                    options_.chain ? kir::ElementType::kF32 : types[Pick(5)],
                    threads_ * per_thread_.back()));
    }
    Body body;
    for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
      if (!kernel_.buffers[b].is_param) {
        body.push_back(Wrap(kir::Alloc{static_cast<int>(b)}));
      }
    }
    body.push_back(Wrap(Fill(register_, {0}, 1)));
    std::vector<int> readable;
    if (options_.chain) {
      Chain(body);
    } else {
      Statements(body, 3 + Pick(6 + n), 0, readable);
    }
    kernel_.body = std::move(body);
    return std::move(kernel_);
  }

 private:
  int Pick(int n) { return static_cast<int>(random_() % n); }

  kir::Statement Wrap(decltype(kir::Statement::node) node) {
    return {std::move(node), {}};
  }

  kir::BufferId AddBuffer(std::string name, kir::Memory memory,
                          kir::ElementType type, int64_t elements) {
    kir::Buffer buffer;
    buffer.name = std::move(name);
    buffer.memory = memory;
    buffer.type = type;
    buffer.extents = {elements};
    kernel_.buffers.push_back(std::move(buffer));
    return static_cast<int>(kernel_.buffers.size()) - 1;
  }

  kir::Expr Fill(kir::BufferId buffer, AffineExpr index, AffineExpr value) {
    kir::Expr expr;
    expr.op = "full";
    expr.outputs = {{buffer, {std::move(index)}, {}}};
    expr.arguments = {std::move(value)};
    return expr;
  }

  // A loop around `body` over a fresh index, which `make` gets.
  template <typename Make>
  kir::Statement Loop(kir::LoopKind kind, int64_t trips, Make make) {
    kir::Loop loop;
    loop.index = absl::StrCat("i", ++names_);
    loop.kind = kind;
    loop.start = 0;
    loop.stop = trips;
    make(AffineExpr::Symbol(loop.index), loop.body);
    return Wrap(std::move(loop));
  }

  AffineExpr Tid() { return AffineExpr::Symbol("tid.x"); }

  // Element of thread `t`'s share number `i`, in one of several layouts.
  AffineExpr Element(int layout, int b, const AffineExpr& t,
                     const AffineExpr& i) {
    return layout == 0 ? t + AffineExpr(threads_) * i
                       : AffineExpr(per_thread_[b]) * t + i;
  }

  // Writes all of a shared buffer.
  void Write(Body& body, int b) {
    const AffineExpr value = AffineExpr(1 + Pick(50)) + Outer();
    const kir::BufferId buffer = shared_[b];
    if (Pick(5) == 0) {
      body.push_back(Loop(kir::LoopKind::kSerial, threads_ * per_thread_[b],
                          [&](const AffineExpr& i, Body& inner) {
                            inner.push_back(Wrap(Fill(buffer, i, value + i)));
                          }));
      return;
    }
    const int layout = Pick(2);
    const AffineExpr t =
        Pick(3) == 0 ? AffineExpr(threads_ - 1) - Tid() : Tid();
    body.push_back(Loop(
        Pick(4) == 0 ? kir::LoopKind::kUnroll : kir::LoopKind::kSerial,
        per_thread_[b], [&](const AffineExpr& i, Body& inner) {
          inner.push_back(
              Wrap(Fill(buffer, Element(layout, b, t, i), value + Tid() + i)));
        }));
  }

  // Adds what some elements hold to the result of this thread.
  void Read(Body& body, int b) {
    const int layout = Pick(2);
    AffineExpr t = Tid();
    const int other = Pick(4);
    if (other == 1) t = AffineExpr(threads_ - 1) - Tid();
    if (other == 2) {
      t = AffineExpr::Mod(Tid() + AffineExpr(1 + Pick(7)),
                          AffineExpr(threads_));
    }
    body.push_back(
        Loop(kir::LoopKind::kSerial, per_thread_[b],
             [&](const AffineExpr& i, Body& inner) {
               kir::Expr expr;
               expr.op = "add";
               expr.outputs = {{register_, {0}, {}}};
               expr.arguments = {
                   kir::Operand{register_, {0}, {}},
                   kir::Operand{shared_[b], {Element(layout, b, t, i)}, {}}};
               inner.push_back(Wrap(std::move(expr)));
             }));
  }

  AffineExpr Outer() {
    AffineExpr sum;
    for (const AffineExpr& index : loops_) sum = sum + AffineExpr(3) * index;
    return sum;
  }

  void Statements(Body& body, int count, int depth,
                  std::vector<int>& readable) {
    for (int k = 0; k < count; ++k) {
      const int kind = Pick(12);
      if (kind < 4 || readable.empty()) {
        const int b = Pick(static_cast<int>(shared_.size()));
        Write(body, b);
        if (!std::count(readable.begin(), readable.end(), b)) {
          readable.push_back(b);
        }
      } else if (kind < 8) {
        Read(body, readable[Pick(static_cast<int>(readable.size()))]);
      } else if (kind < 10) {
        body.push_back(Wrap(kir::Sync{}));
      } else if (kind == 10 && depth < options_.max_depth) {
        const int trips = Pick(5) == 0 ? 0 : 1 + Pick(3);
        // Writes of a loop that never runs do not count afterwards.
        std::vector<int> inside = readable;
        body.push_back(Loop(kir::LoopKind::kSerial, trips,
                            [&](const AffineExpr& i, Body& inner) {
                              loops_.push_back(i);
                              Statements(inner, 1 + Pick(5), depth + 1, inside);
                              loops_.pop_back();
                            }));
        if (trips > 0) readable = inside;
      } else if (Pick(3) == 0) {
        // All threads or none; what is written inside may not be there later.
        kir::If branch;
        branch.uniformity = kir::Uniformity::kUniform;
        branch.predicate = AffineExpr::Mod(Outer() + Pick(3), 2);
        std::vector<int> inside = readable;
        Statements(branch.then_body, 1 + Pick(4), depth + 1, inside);
        if (Pick(2) == 0) {
          inside = readable;
          Statements(branch.else_body, 1 + Pick(3), depth + 1, inside);
        }
        body.push_back(Wrap(std::move(branch)));
      } else {
        kir::If branch;
        branch.uniformity = kir::Uniformity::kDivergent;
        branch.predicate =
            AffineExpr::Max(0, AffineExpr(1 + Pick(threads_)) - Tid());
        Read(branch.then_body,
             readable[Pick(static_cast<int>(readable.size()))]);
        body.push_back(Wrap(std::move(branch)));
      }
    }
    if (depth > 0) return;
    kir::Expr expr;
    expr.op = "copy";
    expr.outputs = {{out_, {Tid()}, {}}};
    expr.arguments = {kir::Operand{register_, {0}, {}}};
    body.push_back(Wrap(std::move(expr)));
  }

  // Every stage fills its buffer; some buffers are read stages later.
  void Chain(Body& body) {
    const int n = static_cast<int>(shared_.size());
    std::vector<std::vector<int>> reads(n + 12);
    for (int b = 0; b < n; ++b) {
      Write(body, b);
      if (Pick(3) > 0) body.push_back(Wrap(kir::Sync{}));
      reads[b + 1 + Pick(Pick(6) == 0 ? 10 : 2)].push_back(b);
      for (int r : reads[b]) Read(body, r);
    }
    for (int s = n; s < n + 12; ++s) {
      for (int r : reads[s]) Read(body, r);
    }
  }

  const RandomKernelOptions options_;
  std::mt19937_64 random_;
  kir::Kernel kernel_;
  int threads_ = 1;
  int names_ = 0;
  kir::BufferId in_ = 0, out_ = 0, register_ = 0;
  std::vector<kir::BufferId> shared_;
  std::vector<int> per_thread_;
  std::vector<AffineExpr> loops_;
};

}  // namespace

kir::Kernel MakeRandomKernel(uint64_t seed,
                             const RandomKernelOptions& options) {
  return Maker(seed, options).Make(seed);
}

}  // namespace xla::gpu
