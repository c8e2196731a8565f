#include "xla/hlo/ir/name_uniquer.h"

#include <cstdint>
#include <string>

#include "absl/log/check.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
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
  constexpr size_t kMaxDigits = 18;  // of which every number fits
  size_t first_digit = name.size();
  while (first_digit > 0 && absl::ascii_isdigit(name[first_digit - 1])) {
    --first_digit;
  }
  const absl::string_view digits = name.substr(first_digit);
  // Id 0 is the bare root, so that ".0" is part of the root, as is any number
  // that would not be written that way.
  if (digits.empty() || digits.size() > kMaxDigits || digits[0] == '0' ||
      first_digit <= separator_.size() ||
      !absl::EndsWith(name.substr(0, first_digit), separator_)) {
    return;
  }
  int64_t value = 0;
  for (char c : digits) value = 10 * value + (c - '0');
  *root = name.substr(0, first_digit - separator_.size());
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
  if (unique_id > 0) return absl::StrCat(root, separator_, unique_id);
  if (id == 0) return std::string(root);
  // The number asked for is taken and 0 is free. The bare root may be a name of
  // another root (x.7 for x.7.1), and ".0" is a root of its own.
  std::string zeroth = absl::StrCat(root, separator_, 0);
  if (GeneratorFor(zeroth).MarkUsed(0)) return zeroth;
  return absl::StrCat(root, separator_, GeneratorFor(root).RegisterId(0));
}

}  // namespace xla
