// hlo-costs: prints what HloCostAnalysis says of modules, one line of JSON for
// each, for other programs to read.

#include <cmath>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "tools/tool_main.h"
#include "xla/hlo/analysis/cost/hlo_cost_analysis.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/utils/file_util.h"
#include "xla/hlo/verifier/hlo_verifier.h"

namespace xla {
namespace {

absl::StatusOr<std::string> CostsOfFile(const std::string& path) {
  absl::StatusOr<std::string> text = ReadFileOrStdin(path);
  if (!text.ok()) return text.status();
  absl::StatusOr<std::unique_ptr<HloModule>> module =
      ParseAndReturnUnverifiedModule(*text);
  if (!module.ok()) return module.status();
  absl::Status status = VerifyHloModule(module->get(), {});
  if (!status.ok()) return status;
  HloCostAnalysis analysis;
  status = (*module)->entry_computation()->Accept(&analysis);
  if (!status.ok()) return status;
  // Sums over the entry's instructions, by property.
  absl::btree_map<std::string, double> sums;
  for (const HloInstruction* instruction :
       (*module)->entry_computation()->instructions()) {
    analysis.properties(*instruction)
        .ForEach([&](absl::string_view name, double value) {
          sums[std::string(name)] += value;
        });
  }
  std::vector<std::string> fields;
  for (const auto& [name, value] : sums) {
    // JSON has no numbers for these.
    if (!std::isfinite(value)) {
      return absl::OutOfRangeError(absl::StrCat(name, " is ", value));
    }
    fields.push_back(absl::StrFormat("\"%s\": %.17g", name, value));
  }
  return absl::StrCat("{", absl::StrJoin(fields, ", "), "}");
}

}  // namespace
}  // namespace xla

int main(int argc, char** argv) {
  const std::vector<std::string> paths =
      xla::InitTool(argc, argv, "FILE...: prints costs\n");
  for (const std::string& path : paths) {
    absl::StatusOr<std::string> costs = xla::CostsOfFile(path);
    // A module that has none is no reason to leave out the others.
    if (!costs.ok()) std::cerr << path << ": " << costs.status() << "\n";
    std::cout << (costs.ok() ? *costs : "null") << "\n";
  }
  return 0;
}
