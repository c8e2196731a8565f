#include "xla/hlo/utils/proto_fuzz_target.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/utils/module_io.h"
#include "xla/hlo/verifier/hlo_verifier.h"

namespace xla {
namespace {

// The first lines in which two texts differ; empty if they are equal.
std::string FirstDifference(absl::string_view a, absl::string_view b) {
  const std::vector<absl::string_view> before = absl::StrSplit(a, '\n');
  const std::vector<absl::string_view> after = absl::StrSplit(b, '\n');
  for (size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    if (before[i] == after[i]) continue;
    return absl::StrCat("line ", i + 1, ":\n", before[i], "\n", after[i], "\n");
  }
  if (before.size() == after.size()) return "";
  return absl::StrCat(before.size(), " lines and ", after.size());
}

// Those of the instructions.
bool NamesAreUnique(const HloModule& module) {
  std::set<absl::string_view> names;
  for (const HloComputation* computation : module.computations()) {
    for (const HloInstruction* instruction : computation->instructions()) {
      if (!names.insert(instruction->name()).second) return false;
    }
  }
  return true;
}

// Text is silent about that, and is read as if it said no.
bool HasScanNotKnownToBeAssociative(const HloModule& module) {
  for (const HloComputation* computation : module.computations()) {
    for (const HloInstruction* instruction : computation->instructions()) {
      const auto* scan = DynCast<HloScanInstruction>(instruction);
      if (scan != nullptr && scan->is_associative() == TRI_STATE_UNSPECIFIED) {
        return true;
      }
    }
  }
  return false;
}

absl::string_view BehindHeader(absl::string_view text) {
  return text.substr(std::min(text.find('\n'), text.size()));
}

}  // namespace

bool ReadsAsProtoAndRoundTrips(absl::string_view bytes) {
  absl::StatusOr<std::unique_ptr<HloModule>> module =
      ReadModule(bytes, ModuleFormat::kProto);
  if (!module.ok()) return false;
  HloVerifierOpts options;
  options.allow_mixed_precision = true;
  if (!VerifyHloModule(module->get(), options).ok()) return false;
  absl::StatusOr<std::unique_ptr<HloModule>> again =
      ReadModule(ModuleToProtoBytes(**module), ModuleFormat::kProto);
  CHECK(again.ok()) << again.status();
  // Names that computations share become unique when they are written.
  HloPrintOptions unnamed;
  unnamed.set_canonicalize_instruction_names(true);
  unnamed.set_print_program_shape(false);
  unnamed.set_print_control_dependencies(false);  // by name
  CHECK_EQ(FirstDifference((*module)->ToString(unnamed),
                           (*again)->ToString(unnamed)),
           "");
  // What the verifier lets pass can also be written as text. Layouts that are
  // missing in the entry's become defaults when it is read, in the first line.
  HloParserOptions parsing;
  parsing.set_fill_missing_layouts(false).set_allow_unknown_attributes(true);
  auto read_text = [&] {
    const std::string text = (*module)->ToString();
    again = ParseAndReturnUnverifiedModule(text, {}, parsing);
    CHECK(again.ok()) << again.status() << "\n" << text;
  };
  read_text();
  if (HasScanNotKnownToBeAssociative(**module)) {
    module = std::move(again);
    read_text();
  }
  // Here, too, names that computations share become unique.
  if (NamesAreUnique(**module)) unnamed = HloPrintOptions::Default();
  CHECK_EQ(FirstDifference(BehindHeader((*module)->ToString(unnamed)),
                           BehindHeader((*again)->ToString(unnamed))),
           "");
  return true;
}

}  // namespace xla
