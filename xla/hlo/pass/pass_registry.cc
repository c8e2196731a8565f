#include "xla/hlo/pass/pass_registry.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/pass/hlo_pass_fix.h"
#include "xla/hlo/pass/nearest_name.h"
#include "xla/hlo/pass/partitions_pipeline.h"
#include "xla/hlo/pass/pass_name.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// Nested parentheses deeper than this are an error, not a stack overflow.
constexpr int kMaxDepth = 100;

struct FixOptions {
  int64_t limit = 25;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("limit", limit, "maximum number of rounds");
  }
};

// Recursive descent over a pipeline's text.
class PipelineParser {
 public:
  PipelineParser(const PassRegistry& registry, absl::string_view text)
      : registry_(registry), text_(text) {}

  absl::Status ParsePasses(HloPassPipeline& pipeline, int depth) {
    if (depth > kMaxDepth) return Error("parentheses nested too deeply");
    SkipSpace();
    if (AtEnd() || Peek() == ')') return absl::OkStatus();
    do {
      TF_RETURN_IF_ERROR(ParsePass(pipeline, depth));
    } while (Consume(','));
    return absl::OkStatus();
  }

  absl::Status ExpectEnd() {
    SkipSpace();
    if (AtEnd()) return absl::OkStatus();
    return Error(
        absl::StrCat("expected ',' before '", text_.substr(at_, 1), "'"));
  }

 private:
  absl::Status ParsePass(HloPassPipeline& pipeline, int depth) {
    SkipSpace();
    size_t start = at_;
    absl::string_view name = Name();
    if (name.empty()) return Error("expected a pass name");
    PassOptionText options;
    if (Consume('{')) TF_RETURN_IF_ERROR(ParseOptions(options));
    if (Consume('(')) return ParseGroup(pipeline, name, options, depth);
    absl::StatusOr<std::unique_ptr<HloPassInterface>> pass =
        registry_.MakePass(name, options);
    if (!pass.ok()) {
      at_ = start;
      return Error(pass.status().message());
    }
    pipeline.AddPassFromText(*std::move(pass),
                             std::string(absl::StripAsciiWhitespace(
                                 text_.substr(start, at_ - start))));
    return absl::OkStatus();
  }

  absl::Status ParseGroup(HloPassPipeline& pipeline, absl::string_view name,
                          const PassOptionText& options, int depth) {
    std::unique_ptr<HloPassPipeline> group;
    if (name == "fix") {
      TF_ASSIGN_OR_RETURN(FixOptions fix,
                          ParsePassOptions<FixOptions>(options));
      if (fix.limit < 1 || fix.limit > INT32_MAX) {
        return Error("fix needs a limit of at least 1");
      }
      auto fixed_point = HloPassFix<HloPassPipeline>::Create(
          static_cast<int>(fix.limit), std::string(name));
      fixed_point->set_tell_of_change_at_limit(true);
      group = std::move(fixed_point);
    } else {
      if (!options.settings.empty()) {
        return Error(absl::StrCat("pipeline ", name, " has no options"));
      }
      group = name == "if-partitions"
                  ? std::make_unique<PartitionsPipeline>(std::string(name))
                  : std::make_unique<HloPassPipeline>(std::string(name));
    }
    TF_RETURN_IF_ERROR(ParsePasses(*group, depth + 1));
    if (!Consume(')')) return Error("expected ')'");
    pipeline.AddPass(std::move(group));
    return absl::OkStatus();
  }

  // After the opening brace, to the closing one.
  absl::Status ParseOptions(PassOptionText& options) {
    if (Consume('}')) return absl::OkStatus();
    do {
      SkipSpace();
      absl::string_view name = Name();
      if (name.empty()) return Error("expected an option name");
      std::string value;
      if (Consume('=')) value = std::string(Value());
      options.settings.emplace_back(name, value);
    } while (Consume(','));
    if (!Consume('}')) return Error("expected '}' after the options");
    return absl::OkStatus();
  }

  absl::string_view Name() {
    size_t start = at_;
    while (!AtEnd() && (absl::ascii_isalnum(Peek()) || Peek() == '-' ||
                        Peek() == '_' || Peek() == '.')) {
      ++at_;
    }
    return text_.substr(start, at_ - start);
  }

  // To the next ',' or '}' that no brace inside the value encloses.
  absl::string_view Value() {
    size_t start = at_;
    int open = 0;
    for (; !AtEnd(); ++at_) {
      if (Peek() == '{') ++open;
      if (open == 0 && (Peek() == ',' || Peek() == '}')) break;
      if (Peek() == '}') --open;
    }
    return absl::StripAsciiWhitespace(text_.substr(start, at_ - start));
  }

  bool Consume(char c) {
    SkipSpace();
    if (AtEnd() || Peek() != c) return false;
    ++at_;
    return true;
  }

  void SkipSpace() {
    while (!AtEnd() && absl::ascii_isspace(Peek())) ++at_;
  }

  bool AtEnd() const { return at_ == text_.size(); }
  char Peek() const { return text_[at_]; }

  absl::Status Error(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("passes:", at_ + 1, ": ",
                                                   what, "\n  ", text_, "\n  ",
                                                   std::string(at_, ' '), "^"));
  }

  const PassRegistry& registry_;
  absl::string_view text_;
  size_t at_ = 0;
};

}  // namespace

int PassRegistry::OverrideOption(absl::string_view option,
                                 absl::string_view value) {
  int count = 0;
  for (auto& [name, entry] : entries_) {
    for (const PassOptionInfo& info : entry.options) {
      if (info.name != option) continue;
      ++count;
      // The last one of equal settings holds.
      entry.make = [make = std::move(entry.make), option = std::string(option),
                    value = std::string(value)](const PassOptionText& text) {
        PassOptionText settings = text;
        settings.settings.emplace_back(option, value);
        return make(settings);
      };
    }
  }
  return count;
}

absl::StatusOr<std::unique_ptr<HloPassInterface>> PassRegistry::MakePass(
    absl::string_view name, const PassOptionText& options) const {
  auto it = entries_.find(name);
  if (it == entries_.end()) it = entries_.find(PassNameWithDashes(name));
  if (it == entries_.end()) {
    std::vector<std::string> known;
    for (const auto& [known_name, entry] : entries_) {
      known.push_back(known_name);
    }
    return absl::InvalidArgumentError(
        absl::StrCat("unknown pass ", name, DidYouMean(name, known)));
  }
  absl::StatusOr<std::unique_ptr<HloPassInterface>> pass =
      it->second.make(options);
  if (!pass.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("pass ", name, ": ", pass.status().message()));
  }
  return pass;
}

absl::StatusOr<std::unique_ptr<HloPassPipeline>> PassRegistry::ParsePipeline(
    absl::string_view name, absl::string_view text) const {
  auto pipeline = std::make_unique<HloPassPipeline>(std::string(name));
  PipelineParser parser(*this, text);
  TF_RETURN_IF_ERROR(parser.ParsePasses(*pipeline, 0));
  TF_RETURN_IF_ERROR(parser.ExpectEnd());
  return pipeline;
}

}  // namespace xla
