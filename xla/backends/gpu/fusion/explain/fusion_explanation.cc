#include "xla/backends/gpu/fusion/explain/fusion_explanation.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/util/json_util.h"
#include "xla/hlo/analysis/byte_size.h"

namespace xla::gpu {
namespace {

std::string KindName(FusionRecord::Kind kind) {
  switch (kind) {
    case FusionRecord::Kind::kSibling:
      return "sibling";
    case FusionRecord::Kind::kProducerConsumer:
      return "producer-consumer";
    case FusionRecord::Kind::kPriority:
      return "priority";
    case FusionRecord::Kind::kDot:
      return "dot";
    case FusionRecord::Kind::kConvolution:
      return "convolution";
    case FusionRecord::Kind::kNarrowOutput:
      return "narrow-output";
    case FusionRecord::Kind::kUndone:
      return "undone";
  }
  return "";
}

std::string Pair(const FusionExplanationProto::Record& record) {
  return absl::StrCat(record.kind(), " ", record.producer(),
                      record.consumers().empty() ? "" : ": ",
                      absl::StrJoin(record.consumers(), ", "));
}

std::string Figures(const FusionExplanationProto::Record& record) {
  std::vector<std::string> parts;
  if (record.has_saved_bytes()) {
    const double saved = record.saved_bytes();
    parts.push_back(saved < 0
                        ? absl::StrCat("moves ", HumanBytes(-saved), " more")
                        : absl::StrCat("saves ", HumanBytes(saved)));
  }
  if (record.has_held_bytes()) {
    parts.push_back(absl::StrCat("holds ", HumanBytes(record.held_bytes())));
  }
  if (record.has_unfused_seconds() && record.has_fused_seconds()) {
    parts.push_back(absl::StrFormat("%.2f -> %.2f us",
                                    1e6 * record.unfused_seconds(),
                                    1e6 * record.fused_seconds()));
  }
  if (record.has_shared_memory_bytes()) {
    parts.push_back(
        absl::StrFormat("shared memory %.0f B", record.shared_memory_bytes()));
  }
  return parts.empty() ? "" : absl::StrCat(": ", absl::StrJoin(parts, ", "));
}

}  // namespace

FusionExplanation::FusionExplanation(absl::string_view pass, size_t max_records)
    : max_records_(max_records) {
  proto_.set_pass(std::string(pass));
}

void FusionExplanation::Record(FusionRecord record) {
  const int32_t count = record.fused ? proto_.fused() : proto_.refused();
  if (record.fused) {
    proto_.set_fused(count + 1);
  } else {
    proto_.set_refused(count + 1);
  }
  if (static_cast<size_t>(count) >= max_records_) {
    proto_.set_left_out(proto_.left_out() + 1);
    return;
  }
  FusionExplanationProto::Record* out = proto_.add_records();
  out->set_kind(KindName(record.kind));
  out->set_computation(std::move(record.computation));
  out->set_producer(std::move(record.producer));
  for (std::string& consumer : record.consumers) {
    out->add_consumers(std::move(consumer));
  }
  out->set_fused(record.fused);
  out->set_reason(std::move(record.reason));
  if (record.saved_bytes) out->set_saved_bytes(*record.saved_bytes);
  if (record.held_bytes) out->set_held_bytes(*record.held_bytes);
  if (record.unfused_seconds) out->set_unfused_seconds(*record.unfused_seconds);
  if (record.fused_seconds) out->set_fused_seconds(*record.fused_seconds);
  if (record.shared_memory_bytes) {
    out->set_shared_memory_bytes(*record.shared_memory_bytes);
  }
}

std::string FusionExplanationToText(const FusionExplanationProto& explanation) {
  std::string out =
      absl::StrFormat("%s: %d fused, %d refused\n", explanation.pass(),
                      explanation.fused(), explanation.refused());
  if (explanation.left_out() > 0) {
    absl::StrAppend(&out, "  (", explanation.left_out(),
                    " records are left out)\n");
  }
  // Reasons in the order in which they came up first.
  absl::flat_hash_map<std::string, size_t> index_of_reason;
  std::vector<std::pair<std::string, std::vector<std::string>>> refused;
  std::string fused;
  for (const FusionExplanationProto::Record& record : explanation.records()) {
    const std::string line = absl::StrCat(Pair(record), Figures(record));
    if (record.fused()) {
      absl::StrAppend(&fused, "  ", line, record.reason().empty() ? "" : "; ",
                      record.reason(), "\n");
      continue;
    }
    auto [it, added] =
        index_of_reason.try_emplace(record.reason(), refused.size());
    if (added) refused.push_back({record.reason(), {}});
    refused[it->second].second.push_back(line);
  }
  if (!fused.empty()) absl::StrAppend(&out, "fused:\n", fused);
  if (!refused.empty()) absl::StrAppend(&out, "refused:\n");
  for (const auto& [reason, lines] : refused) {
    absl::StrAppend(&out, "  ", reason, " (", lines.size(), ")\n    ",
                    absl::StrJoin(lines, "\n    "), "\n");
  }
  return out;
}

absl::StatusOr<std::string> FusionExplanationsToJson(
    const FusionExplanationsProto& explanations) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  std::string out;
  auto status =
      google::protobuf::util::MessageToJsonString(explanations, &out, options);
  if (!status.ok()) return absl::InternalError(status.ToString());
  return out;
}

}  // namespace xla::gpu
