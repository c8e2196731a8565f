#include "xla/hlo/analysis/hlo_buffer.h"

#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace xla {

absl::StatusOr<BufferValue::Color> HloBuffer::color() const {
  const BufferValue::Color color = values_[0]->color();
  for (const HloValue* value : values_) {
    if (value->color() == color) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "buffer ", id_, " holds values of different memory spaces: ",
        values_[0]->ToShortString(), " in ", color, ", ",
        value->ToShortString(), " in ", value->color()));
  }
  return color;
}

const HloValue& HloBuffer::GetUniqueValue() const {
  CHECK_EQ(values_.size(), 1) << ToString();
  return *values_[0];
}

std::vector<HloPosition> HloBuffer::ComputePositions() const {
  std::vector<HloPosition> positions;
  for (const HloValue* value : values_) {
    positions.insert(positions.end(), value->positions().begin(),
                     value->positions().end());
  }
  return positions;
}

std::string HloBuffer::ToString() const {
  return absl::StrCat(
      "buffer ", id_, ": ",
      absl::StrJoin(values_, ", ", [](std::string* out, const HloValue* value) {
        absl::StrAppend(out, value->ToShortString());
      }));
}

std::string HloBuffer::ToDebugString() const {
  std::string out = absl::StrCat("buffer ", id_, ":\n");
  for (const HloValue* value : values_) {
    absl::StrAppend(&out, value->ToString(/*indent=*/2));
  }
  return out;
}

std::ostream& operator<<(std::ostream& out, const HloBuffer& buffer) {
  return out << buffer.ToString();
}

}  // namespace xla
