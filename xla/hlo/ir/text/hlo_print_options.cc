#include "xla/hlo/ir/hlo_print_options.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"

namespace xla {

const std::string& CanonicalNameMap::LookupOrInsert(int64_t unique_id) {
  auto [it, inserted] = names_.try_emplace(unique_id);
  if (inserted) it->second = absl::StrCat("tmp_", names_.size() - 1);
  return it->second;
}

void CanonicalNameMap::Reserve(size_t size) { names_.reserve(size); }

}  // namespace xla
