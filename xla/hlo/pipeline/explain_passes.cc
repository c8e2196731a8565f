#include "xla/hlo/pipeline/explain_passes.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>
#include <system_error>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/util/json_util.h"
#include "xla/backends/gpu/fusion/explain/fusion_svg.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/pass/nearest_name.h"
#include "xla/hlo/pass/pass_name.h"
#include "xla/hlo/utils/file_util.h"
#include "xla/hlo/utils/hlo_dot.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// What is asked for is kernels, not the pass that makes them.
constexpr absl::string_view kLowering = "lowering";
constexpr absl::string_view kLoweringPass = "shared-memory-planning";

void ForEachPass(HloPassPipeline* pipeline,
                 const std::function<void(HloPassInterface*)>& visit) {
  for (int i = 0; i < pipeline->PassesSize(); ++i) {
    HloPassInterface& pass = pipeline->GetPass(i);
    if (pass.IsPassPipeline()) {
      ForEachPass(static_cast<HloPassPipeline*>(&pass), visit);
    } else {
      visit(&pass);
    }
  }
}

using Names = absl::flat_hash_set<std::string>;

// A fusion that has taken others in keeps its name.
std::string Key(const HloInstruction& instruction) {
  return absl::StrCat(
      instruction.name(), " ", instruction.operand_count(), " ",
      instruction.opcode() == HloOpcode::kFusion
          ? instruction.fused_instructions_computation()->instruction_count()
          : 0);
}

Names NamesIn(const HloModule& module) {
  Names names;
  for (const HloComputation* computation : module.computations()) {
    if (computation->IsFusionComputation()) continue;
    for (const HloInstruction* instruction : computation->instructions()) {
      names.insert(Key(*instruction));
    }
  }
  return names;
}

using Instructions = absl::flat_hash_set<const HloInstruction*>;

// Instructions found only in `module`, with their neighbors.
Instructions OnlyIn(const HloModule& module, const HloModule& other) {
  const Names theirs = NamesIn(other);
  Instructions shown;
  for (const HloComputation* computation : module.computations()) {
    if (computation->IsFusionComputation()) continue;
    for (const HloInstruction* instruction : computation->instructions()) {
      if (theirs.contains(Key(*instruction))) continue;
      shown.insert(instruction);
      shown.insert(instruction->operands().begin(),
                   instruction->operands().end());
      shown.insert(instruction->users().begin(), instruction->users().end());
    }
  }
  return shown;
}

// With what is in those that `other` does not have as they are.
std::string DotOf(const HloModule& module, const HloModule& other,
                  Instructions shown) {
  const Names theirs = NamesIn(other);
  const std::vector<const HloInstruction*> kernels(shown.begin(), shown.end());
  for (const HloInstruction* kernel : kernels) {
    if (kernel->opcode() != HloOpcode::kFusion ||
        theirs.contains(Key(*kernel))) {
      continue;
    }
    for (const HloInstruction* inner :
         kernel->fused_instructions_computation()->instructions()) {
      shown.insert(inner);
    }
  }
  return InstructionsToDot(module, shown);
}

std::string FileName(absl::string_view text) {
  std::string name(text);
  for (char& c : name) {
    if (!absl::ascii_isalnum(c) && c != '-' && c != '_' && c != '.') c = '_';
  }
  return name;
}

}  // namespace

absl::StatusOr<std::shared_ptr<PassExplainer>> PassExplainer::Create(
    HloPassPipeline* pipeline, const std::vector<std::string>& passes,
    std::string dot_folder) {
  auto explainer = std::shared_ptr<PassExplainer>(new PassExplainer());
  explainer->dot_folder_ = std::move(dot_folder);
  TF_RETURN_IF_ERROR(explainer->AddPasses(pipeline, passes));
  if (!explainer->dot_folder_.empty()) {
    std::error_code error;
    std::filesystem::create_directories(explainer->dot_folder_, error);
    if (error) {
      return absl::InvalidArgumentError(absl::StrCat(
          explainer->dot_folder_, " is not a folder: ", error.message()));
    }
  }
  return explainer;
}

PassExplainer::~PassExplainer() = default;

absl::Status PassExplainer::AddPasses(HloPassPipeline* pipeline,
                                      const std::vector<std::string>& names) {
  std::set<std::string> in_pipeline;
  std::set<std::string> explaining;
  std::vector<std::string> wanted;
  for (const std::string& name : names) {
    const std::string pass = PassNameWithDashes(name);
    wanted.push_back(pass == kLowering ? std::string(kLoweringPass) : pass);
  }
  ForEachPass(pipeline, [&](HloPassInterface* pass) {
    const std::string name = PassNameWithDashes(pass->name());
    in_pipeline.insert(name);
    auto* explainer = dynamic_cast<gpu::ExplainingPass*>(pass);
    auto* reporter = dynamic_cast<ReportingPass*>(pass);
    if (explainer == nullptr && reporter == nullptr) return;
    explaining.insert(name);
    if (std::find(wanted.begin(), wanted.end(), name) == wanted.end()) return;
    passes_.push_back({pass, explainer, reporter});
  });
  for (const std::string& name : wanted) {
    if (explaining.count(name) > 0) continue;
    const std::string able =
        explaining.empty() ? "; no pass of the pipeline explains itself"
                           : absl::StrCat("; passes that do: ",
                                          absl::StrJoin(explaining, ", "));
    const std::string nearest =
        explaining.empty()
            ? able
            : DidYouMean(name, std::vector<std::string>(explaining.begin(),
                                                        explaining.end()));
    return absl::InvalidArgumentError(
        in_pipeline.count(name) > 0
            ? absl::StrCat("pass ", name, " does not explain itself", able)
            : absl::StrCat("--explain: pass ", name, " is not in the pipeline",
                           nearest));
  }
  return absl::OkStatus();
}

void PassExplainer::Start(const HloModule& module) {
  explanations_.Clear();
  reports_.clear();
  json_reports_.clear();
  explanations_.set_module(std::string(module.name()));
}

absl::Status PassExplainer::BeforePass(const PassEvent& event,
                                       const HloModule& module) {
  for (const auto& [pass, explainer, reporter] : passes_) {
    if (pass != event.pass) continue;
    if (reporter != nullptr) TF_RETURN_IF_ERROR(reporter->StartReport(module));
    if (explainer != nullptr) {
      running_ = std::make_unique<gpu::FusionExplanation>(
          PassNameWithDashes(event.pass_name()));
      explainer->set_explanation(running_.get());
    }
    if (!dot_folder_.empty()) before_ = module.Clone(/*suffix=*/"");
  }
  return absl::OkStatus();
}

absl::Status PassExplainer::AfterPass(const PassEvent& event,
                                      const HloModule& module,
                                      const absl::StatusOr<bool>& result) {
  for (const auto& [pass, explainer, reporter] : passes_) {
    if (pass != event.pass) continue;
    if (reporter != nullptr && result.ok()) {
      TF_ASSIGN_OR_RETURN(const PassReport report,
                          reporter->FinishReport(module));
      reports_ += report.text;
      json_reports_.push_back(report.json);
    }
    if (explainer != nullptr) {
      explainer->set_explanation(nullptr);
      *explanations_.add_passes() = running_->proto();
      running_.reset();
    }
    if (before_ != nullptr && result.ok() && *result) {
      TF_RETURN_IF_ERROR(WriteGraphs(event, module));
    }
    before_.reset();
  }
  return absl::OkStatus();
}

absl::Status PassExplainer::WriteGraphs(const PassEvent& event,
                                        const HloModule& after) const {
  const std::string stem = absl::StrFormat(
      "%s/%s.%02d.%s", dot_folder_, FileName(after.name()), event.index,
      FileName(PassNameWithDashes(event.pass_name())));
  const gpu::FusionPicture left = {before_.get(), OnlyIn(*before_, after)};
  const gpu::FusionPicture right = {&after, OnlyIn(after, *before_)};
  TF_RETURN_IF_ERROR(WriteFileOrStdout(absl::StrCat(stem, ".before.dot"),
                                       DotOf(*before_, after, left.shown)));
  TF_RETURN_IF_ERROR(WriteFileOrStdout(absl::StrCat(stem, ".after.dot"),
                                       DotOf(after, *before_, right.shown)));
  return WriteFileOrStdout(
      absl::StrCat(stem, ".svg"),
      gpu::FusionsToSvg(absl::StrCat(after.name(), ": ",
                                     PassNameWithDashes(event.pass_name())),
                        left, right));
}

std::string PassExplainer::ToText() const {
  std::string out = reports_;
  for (const gpu::FusionExplanationProto& explanation :
       explanations_.passes()) {
    absl::StrAppend(&out, gpu::FusionExplanationToText(explanation));
  }
  return out;
}

absl::StatusOr<std::string> PassExplainer::ToJson() const {
  TF_ASSIGN_OR_RETURN(std::string json,
                      gpu::FusionExplanationsToJson(explanations_));
  if (json_reports_.empty()) return json;
  // One more member behind the last one.
  const size_t end = json.rfind('}');
  TF_RET_CHECK(end != std::string::npos);
  json.erase(end);
  absl::StripTrailingAsciiWhitespace(&json);
  return absl::StrCat(json, ",\n \"reports\": [\n",
                      absl::StrJoin(json_reports_, ",\n"), " ]\n}\n");
}

}  // namespace xla
