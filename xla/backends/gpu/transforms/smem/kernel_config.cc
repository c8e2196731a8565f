#include "xla/backends/gpu/transforms/smem/kernel_config.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace xla::gpu {
namespace {

constexpr absl::string_view kKey = "\"kernel_config\":";

// Without the entry, which holds no object itself, and one comma beside it.
std::string WithoutEntry(absl::string_view config) {
  const size_t begin = config.find(kKey);
  if (begin == absl::string_view::npos) return std::string(config);
  const size_t close = config.find('}', begin);
  if (close == absl::string_view::npos) return std::string(config);
  absl::string_view before = config.substr(0, begin);
  absl::string_view after = config.substr(close + 1);
  before = absl::StripTrailingAsciiWhitespace(before);
  after = absl::StripLeadingAsciiWhitespace(after);
  if (!absl::ConsumeSuffix(&before, ",")) absl::ConsumePrefix(&after, ",");
  return absl::StrCat(before, after);
}

}  // namespace

std::string KernelConfigText(const KernelPlan& plan, int registers) {
  std::string text = absl::StrCat(kKey, "{\"kind\":\"", plan.kind, "\"");
  const auto add = [&](absl::string_view name, int64_t value) {
    absl::StrAppend(&text, ",\"", name, "\":\"", value, "\"");
  };
  add("blocks", plan.blocks);
  add("threads", plan.threads);
  add("shared_bytes", plan.shared_bytes);
  add("barriers", plan.barriers);
  if (registers > 0) add("registers", registers);
  add("blocks_per_sm", plan.blocks_per_sm);
  return absl::StrCat(text, "}");
}

std::string WithKernelConfig(absl::string_view config,
                             absl::string_view entry) {
  std::string others = WithoutEntry(config);
  absl::string_view rest = absl::StripAsciiWhitespace(others);
  if (rest.empty()) return absl::StrCat("{", entry, "}");
  if (!absl::ConsumePrefix(&rest, "{") || !absl::ConsumeSuffix(&rest, "}")) {
    return std::string(config);
  }
  rest = absl::StripAsciiWhitespace(rest);
  return absl::StrCat("{", rest, rest.empty() ? "" : ",", entry, "}");
}

}  // namespace xla::gpu
