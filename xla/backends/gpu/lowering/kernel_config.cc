#include "xla/backends/gpu/lowering/kernel_config.h"

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "google/protobuf/util/json_util.h"
#include "xla/backends/gpu/lowering/kernel_config.pb.h"

namespace xla::gpu {
namespace {

constexpr absl::string_view kKey = "\"kernel_config\":";

// As text, since the other entries have no message that keeps their order.
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

absl::StatusOr<std::string> KernelConfigText(const KernelPlan& plan,
                                             int registers, SmemMode mode) {
  BackendConfigWithKernel config;
  KernelConfigProto& kernel = *config.mutable_kernel_config();
  kernel.set_kind(plan.kind);
  kernel.set_blocks(plan.blocks);
  kernel.set_threads(plan.threads);
  kernel.set_shared_bytes(plan.shared_bytes);
  kernel.set_barriers(plan.barriers);
  if (registers > 0) kernel.set_registers(registers);
  kernel.set_blocks_per_sm(plan.blocks_per_sm);
  if (mode == SmemMode::kStack) kernel.set_plan("stack");
  if (mode == SmemMode::kNoReuseSyncs) kernel.set_plan("no-reuse-syncs");
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string json;
  const auto status =
      google::protobuf::util::MessageToJsonString(config, &json, options);
  absl::string_view entry = json;
  if (!status.ok() || !absl::ConsumePrefix(&entry, "{") ||
      !absl::ConsumeSuffix(&entry, "}")) {
    return absl::InternalError(absl::StrCat("the plan of a kernel to JSON: ",
                                            std::string(status.message())));
  }
  return std::string(entry);
}

SmemMode SmemModeOf(absl::string_view config) {
  BackendConfigWithKernel parsed;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const auto status = google::protobuf::util::JsonStringToMessage(
      std::string(config), &parsed, options);
  const std::string& plan = parsed.kernel_config().plan();
  if (!status.ok()) return SmemMode::kLiveRanges;
  return plan == "stack"            ? SmemMode::kStack
         : plan == "no-reuse-syncs" ? SmemMode::kNoReuseSyncs
                                    : SmemMode::kLiveRanges;
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
