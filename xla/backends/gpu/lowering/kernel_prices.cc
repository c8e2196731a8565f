#include "xla/backends/gpu/lowering/kernel_prices.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <optional>

#include "absl/status/statusor.h"
#include "xla/backends/gpu/lowering/fusion_lowering.h"
#include "xla/backends/gpu/lowering/module_lowering.h"
#include "xla/xla_data.pb.h"

namespace xla::gpu {
namespace {

using ::stream_executor::DeviceDescription;

// Launch of an empty kernel, and of the library's, which does more before it
// begins.
constexpr absl::Duration kLaunch = absl::Nanoseconds(870);
constexpr absl::Duration kLibraryLaunch = absl::Nanoseconds(1500);

// Cycles of a multiprocessor: of what it does one after the other.
constexpr double kBlock = 95;       // to start one
constexpr double kSector = 1.15;    // 32 bytes on the way from or to L2
constexpr double kNearSector = .1;  // 32 bytes that L1 has
constexpr double kShared = 0.87;    // a warp's access to 32 banks
constexpr double kProduct = 1.75;   // a warp's product of 16 x 8 by 32 bytes
constexpr double kSchedulers = 4;   // each issues one instruction
// What products of copies that run ahead do not hide of the rest.
constexpr double kExposed = 0.3;

// Cycles until what was asked for is there, on average: most reads that others
// wait for hit L2 or L1.
constexpr double kMemoryWait = 180;
constexpr double kSharedWait = 20;
constexpr double kBarrierWait = 15;
constexpr double kShuffleWait = 56;
constexpr double kIssueWait = 0.16;  // an instruction of the warp itself

// A step of the library along the depth: the factor over the cycles of its
// arithmetic, and the cycles until the next step can begin.
constexpr double kStepOverhead = 1.3;
constexpr double kScalarStep = 38;
constexpr double kMatrixStep = 5;
// Where a product is a sum over a matrix that is read once.
constexpr double kVectorBytes = 1.38;

absl::Duration Cycles(double cycles, const DeviceDescription& device) {
  return absl::Seconds(cycles / (1e9 * device.clock_rate_ghz()));
}

absl::Duration MemoryTime(double bytes, const DeviceDescription& device) {
  return absl::Seconds(bytes / static_cast<double>(device.memory_bandwidth()));
}

absl::Duration Hypot(absl::Duration a, absl::Duration b) {
  return absl::Seconds(
      std::hypot(absl::ToDoubleSeconds(a), absl::ToDoubleSeconds(b)));
}

// Multiplications that a multiprocessor adds up in a cycle of its clock.
struct Rate {
  double products;
  bool is_scalar;  // without matrix units
};

Rate RateOf(char type, const DeviceDescription& device) {
  const double scalar = device.fpus_per_core();
  const auto matrix = [&](PrimitiveType primitive, double otherwise) -> Rate {
    const auto* unit = device.matrix_unit_description();
    const auto rate =
        unit == nullptr ? std::nullopt : unit->GetRateInfo(primitive);
    if (!rate.has_value()) return {otherwise, true};
    const double products = rate->units_per_core * rate->ops_per_clock / 2 *
                            rate->clock_rate_ghz / device.clock_rate_ghz();
    return {std::max(products, 1.0), false};
  };
  switch (type) {
    case 'b':
      return matrix(BF16, scalar);
    case 'e':
      return matrix(F16, scalar);
    case 'd':
      return matrix(F64, scalar / 2);
    case 'D': {
      const Rate real = matrix(F64, scalar / 2);
      return {real.products / 4, real.is_scalar};
    }
    case 'F':
      return {scalar / 4, true};
    default:
      return {scalar, true};
  }
}

}  // namespace

absl::Duration PriceOfWork(const KernelWork& work, int blocks_per_sm,
                           double bytes, const DeviceDescription& device,
                           absl::Duration* arithmetic) {
  const double cores = device.core_count();
  const double blocks = std::max<double>(work.blocks, 1);
  const double resident =
      std::max(1.0, std::min<double>(blocks_per_sm > 0 ? blocks_per_sm : 1,
                                     device.threads_per_core_limit() /
                                         std::max<double>(work.threads, 1)));
  const double waves = std::ceil(blocks / (cores * resident));
  // The share of the work on the multiprocessor with the most blocks.
  const double part = std::ceil(blocks / cores) / blocks;
  const double issue = work.instructions / kSchedulers;
  const double shared = kShared * work.shared_accesses;
  // Products have few warps, for their many registers, which load, convert and
  // multiply at the same time: what they do hides nothing, or, where copies run
  // ahead of it, most of the rest.
  const double products = kProduct * work.products;
  const double longest = std::max(std::max(issue, shared), products);
  const double exposed = work.products == 0 ? 0
                         : work.copies > 0  ? kExposed
                                            : 1;
  *arithmetic =
      Cycles(part * (longest + exposed * (issue + shared + products - longest)),
             device);
  const absl::Duration near =
      Cycles(part * (kSector * (work.sectors_read + work.sectors_written) +
                     kNearSector * work.sectors_again),
             device);
  const absl::Duration starts = Cycles(kBlock * blocks / cores, device);
  const absl::Duration busiest =
      std::max(std::max(*arithmetic, near) + starts, MemoryTime(bytes, device));
  const KernelWork::Chain& chain = work.chain;
  const absl::Duration waits = Cycles(
      waves * (kMemoryWait * chain.memory + kSharedWait * chain.shared +
               kBarrierWait * chain.barriers + kShuffleWait * chain.shuffles +
               chain.instructions + kIssueWait * work.chain_instructions),
      device);
  return kLaunch + Hypot(busiest, waits);
}

absl::Duration PriceOfLibraryDot(const LibraryDot& dot, double bytes,
                                 const DeviceDescription& device,
                                 absl::Duration* arithmetic) {
  const absl::Duration memory = MemoryTime(bytes, device);
  if (dot.rows == 1 || dot.columns == 1) {
    *arithmetic = absl::ZeroDuration();
    return kLibraryLaunch + kVectorBytes * memory;
  }
  const Rate rate = RateOf(dot.lhs.type, device);
  const double wait = rate.is_scalar ? kScalarStep : kMatrixStep;
  struct Tile {
    int64_t rows, columns;
  };
  double least = 0;
  for (const Tile& tile : std::initializer_list<Tile>{
           {32, 32}, {64, 64}, {64, 128}, {128, 128}, {128, 256}}) {
    const auto tiles = [](int64_t size, int64_t by) {
      return std::ceil(static_cast<double>(size) / by);
    };
    const double busy =
        std::ceil(static_cast<double>(dot.batch) * tiles(dot.rows, tile.rows) *
                  tiles(dot.columns, tile.columns) / device.core_count());
    const double elements = static_cast<double>(tile.rows) * tile.columns;
    // As many as leave room for a second set of sums hide each other's waits.
    const double together =
        std::min(busy, std::max(std::floor(32768 / elements), 1.0));
    const double step = kStepOverhead * elements / rate.products;
    const double cycles = dot.depth * std::ceil(busy / together) *
                          std::max(step * together, step + wait);
    if (least == 0 || cycles < least) least = cycles;
  }
  *arithmetic = Cycles(least, device);
  return kLibraryLaunch + std::max(*arithmetic, memory) +
         0.3 * std::min(*arithmetic, memory);
}

KernelPrices::KernelPrices(const DeviceDescription& device)
    : device_(device),
      lowering_(LoweringOptionsFor(device)),
      model_(device),
      planner_(GpuDeviceOf(device), [&] {
        KernelPlannerOptions options;
        options.lowering = lowering_;
        options.check = false;
        return options;
      }()) {}

KernelPrices::Price KernelPrices::Compute(const HloInstruction& kernel,
                                          double bytes) {
  Price price;
  if (LibraryCall(kernel) != nullptr) return price;
  if (const std::optional<LibraryDot> dot = MakeLibraryDot(kernel)) {
    price.time = PriceOfLibraryDot(*dot, bytes, device_, &price.arithmetic);
    price.is_known = true;
    return price;
  }
  const KernelPlan& plan = planner_.Plan(kernel);
  if (!plan.status.ok()) return price;
  const absl::StatusOr<LoweredKernel> lowered = LowerFusion(kernel, lowering_);
  if (!lowered.ok()) return price;
  const absl::StatusOr<KernelWork> work = WorkOfKernel(lowered->kernel);
  if (!work.ok()) return price;
  price.time =
      PriceOfWork(*work, plan.blocks_per_sm, bytes, device_, &price.arithmetic);
  price.is_known = true;
  return price;
}

EstimateRunTimeData KernelPrices::Of(const HloInstruction& kernel) {
  EstimateRunTimeData data = model_.EstimateRunTime(kernel);
  if (data.time == absl::ZeroDuration()) return data;
  const auto [it, is_new] = prices_.try_emplace(KernelFingerprint(kernel));
  if (is_new) it->second = Compute(kernel, data.bytes());
  const Price& price = it->second;
  if (!price.is_known) return data;
  data.compute_time = price.arithmetic;
  data.time = price.time;
  data.exec_time = price.time - kLaunch;
  return data;
}

}  // namespace xla::gpu
