#include "xla/hlo/ir/name_uniquer.h"

#include <cstdint>
#include <string>

#include "absl/log/check.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/primitive_util.h"

namespace xla {
namespace {

bool IsNameCharacter(unsigned char c) {
  return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-';
}

bool IsFirstNameCharacter(unsigned char c) {
  return absl::ascii_isalpha(c) || c == '_';
}

// Names that would read as a type. "tuple" and "buffer" are none in text.
bool IsTypeName(absl::string_view name) {
  // The longest type name is "f8e4m3b11fnuz".
  return name.size() <= 13 && name != "tuple" && name != "buffer" &&
         primitive_util::IsPrimitiveTypeName(name);
}

bool HasReservedPrefix(absl::string_view name) {
  return absl::StartsWith(name, "__") && !absl::StartsWith(name, "__xla_");
}

}  // namespace

NameUniquer::NameUniquer(const std::string& separator) : separator_(separator) {
  CHECK(!separator_.empty());
  CHECK(!absl::ascii_isdigit(separator_.back())) << "separator " << separator_;
  for (char c : separator_) {
    CHECK(IsNameCharacter(c)) << "separator " << separator_;
  }
}

bool NameUniquer::IsSanitizedName(absl::string_view name) {
  if (name.empty()) return true;
  if (!IsFirstNameCharacter(name[0]) || HasReservedPrefix(name)) return false;
  for (char c : name) {
    if (!IsNameCharacter(c)) return false;
  }
  return !IsTypeName(name);
}

std::string NameUniquer::GetSanitizedName(absl::string_view name) {
  std::string result(name);
  if (IsSanitizedName(name)) return result;
  for (char& c : result) {
    if (!IsNameCharacter(c)) c = '_';
  }
  if (!IsFirstNameCharacter(result[0])) result[0] = '_';
  if (HasReservedPrefix(result)) result[0] = 'a';
  if (IsTypeName(result)) result += '_';
  return result;
}

int64_t NameUniquer::SequentialIdGenerator::RegisterId(int64_t id) {
  if (used_.insert(id).second) return id;
  while (!used_.insert(next_).second) ++next_;
  return next_++;
}

bool NameUniquer::SequentialIdGenerator::MarkUsed(int64_t id) {
  return used_.insert(id).second;
}

void NameUniquer::Split(absl::string_view name, absl::string_view* root,
                        int64_t* id) const {
  *root = name;
  *id = 0;
  const size_t end = name.rfind(separator_);
  int64_t value;
  if (end == absl::string_view::npos || end == 0 ||
      !absl::SimpleAtoi(name.substr(end + separator_.size()), &value)) {
    return;
  }
  *root = name.substr(0, end);
  *id = value;
}

NameUniquer::SequentialIdGenerator& NameUniquer::GeneratorFor(
    absl::string_view root) {
  auto it = generated_names_.find(root);
  if (it == generated_names_.end()) {
    it = generated_names_.try_emplace(std::string(root)).first;
  }
  return it->second;
}

bool NameUniquer::RegisterName(absl::string_view name) {
  absl::string_view root;
  int64_t id;
  Split(name, &root, &id);
  return GeneratorFor(root).MarkUsed(id);
}

std::string NameUniquer::GetUniqueName(absl::string_view prefix) {
  std::string sanitized;
  if (prefix.empty()) {
    prefix = "name";
  } else if (!IsSanitizedName(prefix)) {
    sanitized = GetSanitizedName(prefix);
    prefix = sanitized;
  }
  absl::string_view root;
  int64_t id;
  Split(prefix, &root, &id);
  const int64_t unique_id = GeneratorFor(root).RegisterId(id);
  // `x` and `x.0` are one name, written as it was asked for. For `x.7.1` that
  // is never the bare root, which would be a name of the root `x`.
  const bool had_id = root.size() < prefix.size();
  if (unique_id == 0 && !had_id) return std::string(root);
  return absl::StrCat(root, separator_, unique_id);
}

}  // namespace xla
