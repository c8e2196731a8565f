#ifndef XLA_HLO_PIPELINE_COMMANDS_HLO_RUN_H_
#define XLA_HLO_PIPELINE_COMMANDS_HLO_RUN_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "absl/status/status.h"

namespace xla {

// The work of the hlo-run tool: evaluates a module on one or several devices,
// or two and compares. The tool adds flags to it.
struct HloRunOptions {
  // Where arguments come from:
  //
  //   random:SEED    by what the parameters are used for (see
  //   input_generator.h) small:SEED     the same, floats being small integers
  //   zeros
  //   FILE.npz       arrays arg0, arg1, ... or arr_0, arr_1, ... (numpy.savez)
  //   or
  //                  by the parameters' names; elements of tuples arg0.1.2;
  //                  of one device alone arg0@DEVICE
  //   FILE.npy       of the only parameter
  std::string inputs = "random:0";
  // Number of devices; 0: as the module says, whose number it must be unless
  // the module is for one. `replicas` and `partitions` say which.
  int64_t devices = 0;
  int64_t replicas = 0;
  int64_t partitions = 0;

  // A second module, run on the same arguments, and how far results may be
  // apart: "exact", a number, "abs=..,rel=..,ulps=.."; empty: by element type.
  // If it is the program of one device of several (see run_sharded.h), it gets
  // shards of the arguments, and shards of the result are compared.
  std::string compare;
  std::string tolerance;
  // The folder of a CUDA program that was made from the module for one device
  // (see run_program.h): it is compiled, run and compared; empty: none.
  std::string cuda;

  // Print the results, with all elements.
  bool print = false;
  // Where to write results (out, out.0, ..., of several devices out@DEVICE) and
  // the arguments that were used, as .npz; empty: nowhere.
  std::string output;
  std::string save_inputs;

  int64_t max_steps = 100'000'000;
  // By forecast (see run_forecast.h), and operations also while it runs: these,
  // of which -1 means no limit, and memory of all devices together.
  double max_flops = 1e11;
  int64_t max_memory_mib = 4 << 10;
  // Instead of `max_memory_mib`, as MemoryLimit::Parse() reads it: bytes or a
  // device; empty: not given.
  std::string memory_limit;
  // Where runs of more than a second say what they will take and how far they
  // are; null: nowhere.
  std::ostream* progress = nullptr;
  // Seeds rng instructions.
  uint64_t seed = 0;
  // Give elided constants (`{...}`) deterministic elements.
  bool fill_elided_constants = false;
};

// Runs. Results go to `out`, in a few lines unless asked for more. Errors name
// file or instruction; results that differ are Aborted, with the
// first element that does, the largest errors and the instruction where it
// begins; ResourceExhausted for limits that are not met.
absl::Status RunHloRun(const HloRunOptions& options, const std::string& module,
                       std::ostream& out);

}  // namespace xla

#endif  // XLA_HLO_PIPELINE_COMMANDS_HLO_RUN_H_
