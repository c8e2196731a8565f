#include "xla/hlo/analysis/cost/hlo_cost_properties.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace xla {
namespace {

// Whether the name is about one operand or output.
bool IsAboutAPart(absl::string_view property) {
  return property != HloCostProperties::kBytesAccessedKey &&
         property != HloCostProperties::kUtilizationKey &&
         (absl::StartsWith(property, HloCostProperties::kBytesAccessedKey) ||
          absl::StartsWith(property, HloCostProperties::kUtilizationKey));
}

// N of `<prefix>N{}`, or -1.
int64_t OperandNumber(absl::string_view property, absl::string_view prefix) {
  int64_t number = -1;
  if (!absl::ConsumePrefix(&property, prefix) ||
      !absl::ConsumeSuffix(&property, "{}") ||
      !absl::SimpleAtoi(property, &number) || number < 0) {
    return -1;
  }
  return number;
}

}  // namespace

std::string HloCostProperties::OperandBytesAccessedKey(
    int64_t operand, const ShapeIndex& index) {
  return absl::StrCat(kBytesAccessedKey, operand, index.ToString());
}

std::string HloCostProperties::OperandUtilizationKey(int64_t operand,
                                                     const ShapeIndex& index) {
  return absl::StrCat(kUtilizationKey, operand, index.ToString());
}

std::string HloCostProperties::OutputBytesAccessedKey(const ShapeIndex& index) {
  return absl::StrCat(kBytesAccessedKey, "out", index.ToString());
}

double* HloCostProperties::Find(absl::string_view property, bool may_grow) {
  if (property == kFlopsKey) return &flops;
  if (property == kTranscendentalsKey) return &transcendentals;
  if (property == kBytesAccessedKey) return &bytes_accessed;
  if (property == kOptimalSecondsKey) return &optimal_seconds;
  if (property == kUtilizationKey) return &utilization;
  if (property == "bytes accessedout{}") return &output_bytes_;
  if (!IsAboutAPart(property)) return nullptr;
  const int64_t of_bytes = OperandNumber(property, kBytesAccessedKey);
  const int64_t of_utilization = OperandNumber(property, kUtilizationKey);
  const int64_t number = std::max(of_bytes, of_utilization);
  if (number < 0) return nullptr;
  if (number >= static_cast<int64_t>(operands_.size())) {
    if (!may_grow) return nullptr;
    operands_.resize(number + 1);
  }
  Operand& operand = operands_[number];
  return of_bytes >= 0 ? &operand.bytes : &operand.utilization;
}

double& HloCostProperties::operator[](absl::string_view property) {
  double* member = Find(property, /*may_grow=*/true);
  return member != nullptr ? *member : named_[std::string(property)];
}

double HloCostProperties::operator[](absl::string_view property) const {
  const double* member =
      const_cast<HloCostProperties*>(this)->Find(property, /*may_grow=*/false);
  return member != nullptr ? *member : Named(property);
}

double HloCostProperties::Named(absl::string_view property) const {
  auto it = named_.find(property);
  return it == named_.end() ? 0 : it->second;
}

void HloCostProperties::ForEach(
    absl::FunctionRef<void(absl::string_view, double)> fn) const {
  auto call = [&](absl::string_view name, double value) {
    if (value != 0) fn(name, value);
  };
  call(kFlopsKey, flops);
  call(kTranscendentalsKey, transcendentals);
  call(kBytesAccessedKey, bytes_accessed);
  call(kOptimalSecondsKey, optimal_seconds);
  call(kUtilizationKey, utilization);
  call(OutputBytesAccessedKey(), output_bytes_);
  for (size_t i = 0; i < operands_.size(); ++i) {
    call(OperandBytesAccessedKey(i), operands_[i].bytes);
    call(OperandUtilizationKey(i), operands_[i].utilization);
  }
  for (const auto& [name, value] : named_) call(name, value);
}

double HloCostProperties::operand_utilization(
    int64_t operand, const ShapeIndex& shape_index) const {
  if (!shape_index.empty()) {
    return Named(OperandUtilizationKey(operand, shape_index));
  }
  return operand < static_cast<int64_t>(operands_.size())
             ? operands_[operand].utilization
             : 0;
}

void HloCostProperties::set_operand_utilization(int64_t operand,
                                                const ShapeIndex& shape_index,
                                                double value) {
  (*this)[OperandUtilizationKey(operand, shape_index)] = value;
}

double HloCostProperties::operand_bytes_accessed(
    int64_t operand, const ShapeIndex& shape_index) const {
  if (!shape_index.empty()) {
    return Named(OperandBytesAccessedKey(operand, shape_index));
  }
  return operand < static_cast<int64_t>(operands_.size())
             ? operands_[operand].bytes
             : 0;
}

void HloCostProperties::set_operand_bytes_accessed(
    int64_t operand, const ShapeIndex& shape_index, double value) {
  if (shape_index.empty()) {
    if (operand >= static_cast<int64_t>(operands_.size())) {
      operands_.resize(operand + 1);
    }
    operands_[operand].bytes = value;
    return;
  }
  (*this)[OperandBytesAccessedKey(operand, shape_index)] = value;
}

double HloCostProperties::output_bytes_accessed(
    const ShapeIndex& shape_index) const {
  return shape_index.empty() ? output_bytes_
                             : Named(OutputBytesAccessedKey(shape_index));
}

void HloCostProperties::set_output_bytes_accessed(const ShapeIndex& shape_index,
                                                  double value) {
  if (shape_index.empty()) {
    output_bytes_ = value;
  } else {
    named_[OutputBytesAccessedKey(shape_index)] = value;
  }
}

void HloCostProperties::AddTotals(const HloCostProperties& other,
                                  double factor) {
  flops += factor * other.flops;
  transcendentals += factor * other.transcendentals;
  bytes_accessed += factor * other.bytes_accessed;
  optimal_seconds += factor * other.optimal_seconds;
  for (const auto& [name, value] : other.named_) {
    if (!IsAboutAPart(name)) named_[name] += factor * value;
  }
}

void HloCostProperties::MaxTotals(const HloCostProperties& other) {
  flops = std::max(flops, other.flops);
  transcendentals = std::max(transcendentals, other.transcendentals);
  bytes_accessed = std::max(bytes_accessed, other.bytes_accessed);
  optimal_seconds = std::max(optimal_seconds, other.optimal_seconds);
  for (const auto& [name, value] : other.named_) {
    if (IsAboutAPart(name)) continue;
    double& mine = named_[name];
    mine = std::max(mine, value);
  }
}

std::string HloCostProperties::ToString(bool print_named_properties) const {
  std::string text;
  ForEach([&](absl::string_view name, double value) {
    if (!print_named_properties && IsAboutAPart(name)) return;
    absl::StrAppend(&text, text.empty() ? "" : ", ", name, " ", value);
  });
  return text;
}

}  // namespace xla
