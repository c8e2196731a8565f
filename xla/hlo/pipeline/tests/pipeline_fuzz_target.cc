#include "xla/hlo/pipeline/tests/pipeline_fuzz_target.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/pass/hlo_pass_pipeline.h"
#include "xla/hlo/pass/instrumentation/changed_check.h"
#include "xla/hlo/pass/instrumentation/verify_each.h"
#include "xla/hlo/pipeline/all_passes.h"
#include "xla/hlo/pipeline/pipelines.h"
#include "xla/hlo/testlib/random_module.h"
#include "xla/hlo/verifier/hlo_verifier.h"

namespace xla {
namespace {

// Numbers from bytes, 0 after their end.
class Bytes {
 public:
  explicit Bytes(absl::string_view bytes) : bytes_(bytes) {}

  // In [0, limit).
  int64_t Below(int64_t limit) {
    if (bytes_.empty()) return 0;
    const auto byte = static_cast<unsigned char>(bytes_.front());
    bytes_.remove_prefix(1);
    return byte % limit;
  }
  uint64_t Seed() {
    uint64_t seed = 0;
    for (int i = 0; i < 8; ++i) seed = seed << 8 | Below(256);
    return seed;
  }

 private:
  absl::string_view bytes_;
};

RandomModuleOptions ModuleOptions(Bytes& bytes) {
  RandomModuleOptions options;
  options.steps = 1 + bytes.Below(40);
  options.max_rank = 1 + bytes.Below(4);
  options.max_dimension = 1 + bytes.Below(40);
  options.max_elements = 1 << bytes.Below(13);
  options.zero_sized_every = bytes.Below(5);
  options.max_depth = bytes.Below(4);
  options.max_trips = bytes.Below(4);
  options.tuples = bytes.Below(4) != 0;
  options.undefined_numerics = bytes.Below(2) != 0;
  // Half of the modules are of a few opcodes, and full of them.
  const std::vector<HloOpcode> all = RandomModuleOpcodes();
  if (bytes.Below(2) == 0) return options;
  for (int i = 0; i < 6; ++i) {
    options.opcodes.push_back(all[bytes.Below(all.size())]);
  }
  return options;
}

const PassRegistry& Registry() {
  static const auto* registry = new PassRegistry(AllPasses());
  return *registry;
}

HloVerifierOpts Mixed() {
  HloVerifierOpts verify;
  verify.allow_mixed_precision = true;
  return verify;
}

absl::Status RunChecked(absl::string_view pipeline_name, HloModule* module) {
  auto pipeline = MakeNamedPipeline(Registry(), std::string(pipeline_name));
  CHECK(pipeline.ok()) << pipeline.status();
  (*pipeline)->AddInstrumentation(std::make_shared<VerifyEach>(Mixed()));
  (*pipeline)->AddInstrumentation(
      std::make_shared<ChangedCheck>(ChangedCheck::Options{}));
  return (*pipeline)->Run(module).status();
}

}  // namespace

bool PipelineRunsOnRandomModule(absl::string_view data) {
  Bytes bytes(data);
  const uint64_t seed = bytes.Seed();
  const bool is_gpu = bytes.Below(4) != 0;
  const std::unique_ptr<HloModule> module =
      RandomModule(seed, ModuleOptions(bytes));
  // Calls within calls: pipelines take longer than an input may.
  constexpr int64_t kMostInstructions = 20000;
  if (module->instruction_count() > kMostInstructions) return false;
  const std::string text = module->ToString();
  const absl::Status status =
      RunChecked(is_gpu ? "gpu" : "cleanup", module.get());
  if (absl::IsUnimplemented(status) || absl::IsResourceExhausted(status)) {
    return false;
  }
  CHECK(status.ok()) << status << "\n" << text;
  return true;
}

bool PipelineRunsOnText(absl::string_view text) {
  HloParserOptions options;
  options.set_max_recursion_depth(200);
  const auto module =
      ParseAndReturnUnverifiedModule(text, HloModuleConfig(), options);
  if (!module.ok() || !VerifyHloModule(module->get(), Mixed()).ok()) {
    return false;
  }
  constexpr absl::string_view kPipelines[] = {"cleanup", "gpu", "spmd", "cpu",
                                              "xla-gpu"};
  const absl::string_view name = kPipelines[text.size() % 5];
  if (name == "spmd") {
    (*module)->mutable_config().set_num_partitions(4);
    (*module)->mutable_config().set_use_spmd_partitioning(true);
    if (!VerifyHloModule(module->get(), Mixed()).ok()) return false;
  }
  const absl::Status status = RunChecked(name, module->get());
  CHECK(!absl::IsInternal(status) && !absl::StartsWith(status.message(), "[V"))
      << name << ": " << status << "\n"
      << text;
  return status.ok();
}

bool PassesAreMade(absl::string_view text) {
  const auto pipeline = Registry().ParsePipeline("fuzz", text);
  CHECK(pipeline.ok() || !pipeline.status().message().empty());
  return pipeline.ok();
}

}  // namespace xla
