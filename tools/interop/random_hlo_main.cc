// random-hlo: writes random modules as text files, for other programs to read.

#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "tools/tool_main.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/testlib/random_module.h"
#include "xla/hlo/testlib/random_shardings.h"
#include "xla/hlo/utils/file_util.h"

ABSL_FLAG(int64_t, first_seed, 0, "Seed of the first module.");
ABSL_FLAG(int64_t, count, 10, "How many modules.");
ABSL_FLAG(std::string, folder, ".", "Where to: FOLDER/random_SEED.hlo.");
ABSL_FLAG(int64_t, steps, 10, "See RandomModuleOptions.");
ABSL_FLAG(int64_t, max_depth, 1, "See RandomModuleOptions.");
ABSL_FLAG(int64_t, partitions, 1, "Partitions of the modules.");
ABSL_FLAG(int64_t, sharded, 0,
          "Devices over which values have random shardings; 0: none.");
ABSL_FLAG(bool, exact, false, "Small integers and exact operations only.");
ABSL_FLAG(std::vector<std::string>, without, {}, "Opcodes not to draw.");

int main(int argc, char** argv) {
  xla::InitTool(argc, argv, "writes random modules\n");
  xla::RandomModuleOptions options;
  options.steps = absl::GetFlag(FLAGS_steps);
  options.max_depth = absl::GetFlag(FLAGS_max_depth);
  options.num_partitions = absl::GetFlag(FLAGS_partitions);
  options.exact = absl::GetFlag(FLAGS_exact);
  for (const std::string& name : absl::GetFlag(FLAGS_without)) {
    absl::StatusOr<xla::HloOpcode> opcode = xla::StringToHloOpcode(name);
    if (!opcode.ok()) return xla::ExitStatus(opcode.status());
    options.without.insert(*opcode);
  }
  const int64_t first = absl::GetFlag(FLAGS_first_seed);
  for (int64_t i = 0; i < absl::GetFlag(FLAGS_count); ++i) {
    const std::unique_ptr<xla::HloModule> module =
        xla::RandomModule(first + i, options);
    if (const int64_t devices = absl::GetFlag(FLAGS_sharded); devices > 1) {
      xla::AnnotateWithRandomShardings(first + i, devices, *module);
      module->mutable_config().set_num_partitions(devices);
    }
    const std::string text = module->ToString(
        xla::HloPrintOptions().set_print_large_constants(true));
    absl::Status status =
        xla::WriteFileOrStdout(absl::StrCat(absl::GetFlag(FLAGS_folder),
                                            "/random_", first + i, ".hlo"),
                               text + "\n");
    if (!status.ok()) return xla::ExitStatus(status);
  }
  return 0;
}
