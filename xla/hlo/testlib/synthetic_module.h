#ifndef XLA_HLO_TESTLIB_SYNTHETIC_MODULE_H_
#define XLA_HLO_TESTLIB_SYNTHETIC_MODULE_H_

#include <cstdint>
#include <string>

namespace xla {

// A training step of a network of equal layers, for tests and benchmarks that
// need modules of any size.
struct SyntheticModuleOptions {
  int64_t batch = 2048;
  int64_t width = 256;
  // `metadata={op_name="..."}` on every instruction, as frameworks write it.
  bool metadata = true;
  // is_scheduled=true; forward, backward, updates in this order.
  bool scheduled = false;
};

// Instructions per layer, and those that do not depend on the number of layers.
inline constexpr int64_t kSyntheticInstructionsPerLayer = 20;
inline constexpr int64_t kSyntheticFixedInstructions = 13;

// HLO text of one step of SGD (forward, backward, update) on
//
//   a[i+1] = a[i] + swish(a[i] * W[i] + b[i])
//
// with parameters W[0..n), b[0..n), input, target and the new W and b as
// result. All activations have one shape; all are live from the forward to the
// backward pass. kSyntheticInstructionsPerLayer * num_layers +
// kSyntheticFixedInstructions instructions, the reducer's three included.
// Memory and time are linear in num_layers.
std::string SyntheticTrainingModule(
    int64_t num_layers,
    const SyntheticModuleOptions& options = SyntheticModuleOptions());

// The same with the number of layers that comes closest to `instructions`.
std::string SyntheticTrainingModuleOfSize(
    int64_t instructions,
    const SyntheticModuleOptions& options = SyntheticModuleOptions());

}  // namespace xla

#endif  // XLA_HLO_TESTLIB_SYNTHETIC_MODULE_H_
