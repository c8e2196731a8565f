#include "xla/hlo/pipeline/commands/hlo_diff.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pipeline/diff/module_diff.h"
#include "xla/hlo/pipeline/diff/module_matching.h"
#include "xla/hlo/pipeline/page/memory_page.h"
#include "xla/hlo/pipeline/page/memory_page_builder.h"
#include "xla/hlo/pipeline/target_flags.h"
#include "xla/hlo/utils/check_writable.h"
#include "xla/hlo/utils/file_util.h"
#include "xla/hlo/utils/flag_check.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

absl::StatusOr<DiffSide> Examine(const HloDiffOptions& options,
                                 const PassRegistry& registry,
                                 const std::string& file,
                                 std::unique_ptr<HloModule> module) {
  PrepareOptions prepare = options.prepare;
  prepare.one_device = true;
  prepare.for_report = true;
  absl::StatusOr<PreparedModule> prepared =
      PrepareModule(std::move(module), prepare, registry);
  if (!prepared.ok()) {
    return absl::Status(prepared.status().code(),
                        absl::StrCat(file, ": ", prepared.status().message()));
  }
  MemoryReportOptions report_options;
  TF_ASSIGN_OR_RETURN(
      BuiltMemoryReport memory,
      BuildMemoryReport(prepared->schedule, *prepared->alias_analysis,
                        report_options));
  *memory.report.mutable_input() = prepared->input;
  MemoryPageOptions page_options;
  page_options.device = options.device;
  page_options.mesh = options.mesh;
  if (options.html.empty()) page_options.max_kernels = 0;
  TF_ASSIGN_OR_RETURN(MemoryPage page,
                      BuildMemoryPage(*prepared->module, memory,
                                      *prepared->alias_analysis, page_options));
  return DiffSide{file, *std::move(prepared), std::move(memory),
                  std::move(page)};
}

absl::Status CheckFlags(const HloDiffOptions& options) {
  TF_RETURN_IF_ERROR(CheckWritable(options.html));
  TF_RETURN_IF_ERROR(CheckDeviceFlag(options.device));
  TF_RETURN_IF_ERROR(CheckMeshFlag(options.mesh));
  TF_RETURN_IF_ERROR(CheckFlag("max-rows", int64_t{options.max_rows}, 0));
  return CheckFlag("effort", options.prepare.effort, 0);
}

}  // namespace

absl::StatusOr<bool> RunHloDiff(const HloDiffOptions& options,
                                const PassRegistry& registry,
                                const std::string& before,
                                const std::string& after, std::ostream& out) {
  TF_RETURN_IF_ERROR(CheckFlags(options));
  if (before == "-" && after == "-") {
    return absl::InvalidArgumentError(
        "standard input can be one of the modules, not both");
  }
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> first,
                      ReadVerifiedModule(before));
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> second,
                      ReadVerifiedModule(after));
  return DiffModules(options, registry, {before, std::move(first)},
                     {after, std::move(second)}, out);
}

absl::StatusOr<bool> DiffModules(const HloDiffOptions& options,
                                 const PassRegistry& registry,
                                 NamedModule before, NamedModule after,
                                 std::ostream& out) {
  TF_RETURN_IF_ERROR(CheckFlags(options));
  const std::unique_ptr<HloModule> first_given = before.module->Clone("");
  const std::unique_ptr<HloModule> second_given = after.module->Clone("");
  const ModuleMatching matching = MatchModules(*first_given, *second_given);
  const std::vector<std::string> header =
      HeaderDifferences(*first_given, *second_given);
  TF_ASSIGN_OR_RETURN(
      const DiffSide left,
      Examine(options, registry, before.name, std::move(before.module)));
  TF_ASSIGN_OR_RETURN(
      const DiffSide right,
      Examine(options, registry, after.name, std::move(after.module)));
  const ModuleDiff diff = BuildModuleDiff(matching, header, left, right);
  if (!options.html.empty()) {
    TF_ASSIGN_OR_RETURN(
        const std::string html,
        MemoryPageToHtml(ModuleDiffPage(diff, left, right),
                         ModuleDiffToText(diff, options.max_rows)));
    if (options.html == "-") {
      out << html;
    } else {
      TF_RETURN_IF_ERROR(WriteFileOrStdout(options.html, html));
    }
  }
  if (options.html == "-") {
    // The page is all that is asked for.
  } else if (options.json) {
    TF_ASSIGN_OR_RETURN(const std::string json, ModuleDiffToJson(diff));
    out << json;
  } else {
    out << ModuleDiffToText(diff, options.max_rows);
  }
  TF_RETURN_IF_ERROR(left.prepared.unmet_limit);
  TF_RETURN_IF_ERROR(right.prepared.unmet_limit);
  return diff.equal();
}

}  // namespace xla
