#ifndef XLA_BACKENDS_GPU_CODEGEN_CUDA_FIBERS_H_
#define XLA_BACKENDS_GPU_CODEGEN_CUDA_FIBERS_H_

#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <vector>

// The threads of a CUDA block as fibers of one thread of the host, for running
// emitted kernels without a GPU. A fiber runs until it must wait; the next one
// is taken at random, from the seed in KIR_SHIM_SEED. When no fiber can run,
// what they wait for is looked at: a shuffle whose lanes are all there, a
// barrier of a warp or of the block, an mbarrier's phase; the lanes of a warp
// that ask for the active mask get it when nothing else can happen.
//
// Part of no library: emitted files include it through cuda_shim.h.

namespace kir_fibers {

struct Dim3 {
  unsigned x, y, z;
  Dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  unsigned Count() const { return x * y * z; }
};

struct Fiber {
  enum class State { kReady, kBlock, kWarp, kMask, kShuffle, kMbarrier, kDone };
  State state = State::kReady;
  Dim3 thread;
  unsigned mask = 0;        // kMask: the answer; kShuffle: who takes part
  int lane = 0;             // kShuffle: whose value
  unsigned char value[8];   // kShuffle: given
  unsigned char result[8];  // kShuffle: got
  unsigned long long* word = nullptr;  // kMbarrier
  unsigned parity = 0;
  ucontext_t context;
  std::unique_ptr<char[]> stack;
};

struct World {
  Dim3 block, block_dim, grid_dim;
  std::vector<Fiber> fibers;
  int now = 0;
  ucontext_t scheduler;
  const std::function<void()>* body = nullptr;
};

inline World& Here() {
  static World world;
  return world;
}
inline Fiber& Now() { return Here().fibers[Here().now]; }

inline void Yield(Fiber::State state) {
  Fiber& fiber = Now();
  fiber.state = state;
  swapcontext(&fiber.context, &Here().scheduler);
}

inline void BlockBarrier() { Yield(Fiber::State::kBlock); }
inline void WarpBarrier() { Yield(Fiber::State::kWarp); }
inline unsigned ActiveMask() {
  Yield(Fiber::State::kMask);
  return Now().mask;
}
inline void Shuffle(unsigned mask, int lane, const void* value, void* result,
                    size_t bytes) {
  Fiber& fiber = Now();
  fiber.mask = mask;
  fiber.lane = lane;
  std::memcpy(fiber.value, value, bytes);
  Yield(Fiber::State::kShuffle);
  std::memcpy(result, fiber.result, bytes);
}
inline void GridBarrier() {
  if (Here().grid_dim.Count() > 1) {
    std::fprintf(stderr, "barriers of several blocks are not emulated\n");
    std::exit(3);
  }
  BlockBarrier();
}

// An mbarrier's word: arrivals expected, arrivals missing, phases completed.
inline void InitBarrier(unsigned long long* word, unsigned count) {
  *word = count | static_cast<unsigned long long>(count) << 16;
}
inline void Arrive(unsigned long long* word) {
  *word -= 1ull << 16;
  if ((*word >> 16 & 0xffff) == 0) {
    *word += (1ull << 32) + ((*word & 0xffff) << 16);
  }
}
inline bool PhaseIsOver(const unsigned long long* word, unsigned parity) {
  return (*word >> 32 & 1) != parity;
}
inline void Wait(unsigned long long* word, unsigned parity) {
  if (PhaseIsOver(word, parity)) return;
  Now().word = word;
  Now().parity = parity;
  Yield(Fiber::State::kMbarrier);
}

// Lets go of lanes of one warp, [first, end), that wait in `state`.
inline bool ReleaseWarp(size_t first, size_t end, Fiber::State state) {
  std::vector<Fiber>& fibers = Here().fibers;
  unsigned there = 0, alive = 0;
  for (size_t t = first; t < end; ++t) {
    if (fibers[t].state != Fiber::State::kDone) alive |= 1u << (t - first);
    if (fibers[t].state == state) there |= 1u << (t - first);
  }
  if (there == 0 || (state == Fiber::State::kWarp && there != alive)) {
    return false;
  }
  std::vector<size_t> released;
  for (size_t t = first; t < end; ++t) {
    Fiber& fiber = fibers[t];
    if (fiber.state != state) continue;
    if (state == Fiber::State::kMask) fiber.mask = there;
    if (state == Fiber::State::kShuffle) {
      if ((fiber.mask & ~there) != 0) continue;
      std::memcpy(fiber.result,
                  fibers[first + fiber.lane % (end - first)].value,
                  sizeof(fiber.result));
    }
    released.push_back(t);
  }
  for (size_t t : released) fibers[t].state = Fiber::State::kReady;
  return !released.empty();
}

// No fiber can run: lets some go on. False when all are done.
inline bool Release() {
  std::vector<Fiber>& fibers = Here().fibers;
  for (Fiber::State state : {Fiber::State::kShuffle, Fiber::State::kWarp}) {
    bool released = false;
    for (size_t first = 0; first < fibers.size(); first += 32) {
      const size_t end =
          first + 32 < fibers.size() ? first + 32 : fibers.size();
      released |= ReleaseWarp(first, end, state);
    }
    if (released) return true;
  }
  bool released = false, all_at_barrier = true, all_done = true;
  for (Fiber& fiber : fibers) {
    if (fiber.state == Fiber::State::kMbarrier &&
        PhaseIsOver(fiber.word, fiber.parity)) {
      fiber.state = Fiber::State::kReady;
      released = true;
    }
    all_done &= fiber.state == Fiber::State::kDone;
    all_at_barrier &= fiber.state == Fiber::State::kDone ||
                      fiber.state == Fiber::State::kBlock;
  }
  if (released || all_done) return released;
  for (Fiber& fiber : fibers) {
    if (!all_at_barrier || fiber.state == Fiber::State::kDone) continue;
    fiber.state = Fiber::State::kReady;
  }
  if (all_at_barrier) return true;
  for (size_t first = 0; first < fibers.size(); first += 32) {
    const size_t end = first + 32 < fibers.size() ? first + 32 : fibers.size();
    released |= ReleaseWarp(first, end, Fiber::State::kMask);
  }
  if (released) return true;
  std::fprintf(stderr, "threads wait for one another\n");
  std::exit(3);
}

inline void Start() {
  (*Here().body)();
  Yield(Fiber::State::kDone);
}

// `begin` runs before each block.
inline void Launch(Dim3 grid, Dim3 block, const std::function<void()>& begin,
                   const std::function<void()>& body) {
  constexpr size_t kStackBytes = 256 * 1024;
  const char* seed = std::getenv("KIR_SHIM_SEED");
  std::mt19937 random(seed == nullptr ? 1 : std::atoi(seed));
  World& world = Here();
  world.grid_dim = grid;
  world.block_dim = block;
  world.body = &body;
  world.fibers.clear();
  world.fibers.resize(block.Count());
  for (unsigned b = 0; b < grid.Count(); ++b) {
    world.block = Dim3(b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y);
    begin();
    std::vector<int> ready;
    for (unsigned t = 0; t < block.Count(); ++t) {
      Fiber& fiber = world.fibers[t];
      fiber.state = Fiber::State::kReady;
      fiber.thread =
          Dim3(t % block.x, t / block.x % block.y, t / block.x / block.y);
      if (fiber.stack == nullptr) fiber.stack.reset(new char[kStackBytes]);
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = fiber.stack.get();
      fiber.context.uc_stack.ss_size = kStackBytes;
      fiber.context.uc_link = nullptr;
      makecontext(&fiber.context, Start, 0);
    }
    do {
      ready.clear();
      for (unsigned t = 0; t < block.Count(); ++t) {
        if (world.fibers[t].state == Fiber::State::kReady) ready.push_back(t);
      }
      for (size_t k = ready.size(); k > 1; --k) {
        std::swap(ready[k - 1], ready[random() % k]);
      }
      for (int t : ready) {
        world.now = t;
        swapcontext(&world.scheduler, &world.fibers[t].context);
      }
    } while (!ready.empty() || Release());
  }
}

// The same without fibers, for threads that never wait.
template <class Body>
void LaunchEach(Dim3 grid, Dim3 block, Body body) {
  World& world = Here();
  world.grid_dim = grid;
  world.block_dim = block;
  if (world.fibers.empty()) world.fibers.resize(1);
  world.now = 0;
  Dim3& thread = world.fibers[0].thread;
  for (unsigned b = 0; b < grid.Count(); ++b) {
    world.block = Dim3(b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y);
    for (unsigned t = 0; t < block.Count(); ++t) {
      thread = Dim3(t % block.x, t / block.x % block.y, t / block.x / block.y);
      body();
    }
  }
}

}  // namespace kir_fibers

#endif  // XLA_BACKENDS_GPU_CODEGEN_CUDA_FIBERS_H_
