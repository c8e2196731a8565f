#ifndef XLA_HLO_IR_NAME_UNIQUER_H_
#define XLA_HLO_IR_NAME_UNIQUER_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"

namespace xla {

// Returns names that it has never returned before.
//
// A name splits into a root and a numeric id: `add.12` is ("add", 12), `add` is
// ("add", 0). So are names with other spellings of an id: `x.007` is ("x", 7),
// `x.0` is ("x", 0), `w.-5` is ("w", -5). A request gets exactly the name it
// asks for while root and id are free, but for a plain spelling of the id
// (`x.7` for `x.007`); else the root with the smallest id not yet tried:
//
//   add -> add, add -> add.1, add.3 -> add.3, add -> add.2, add -> add.4
//
// Every operation is amortized O(length of the name).
class NameUniquer {
 public:
  // `separator` stands between root and id. It holds only characters that are
  // legal in HLO names.
  explicit NameUniquer(const std::string& separator = "__");

  NameUniquer(const NameUniquer&) = delete;
  NameUniquer& operator=(const NameUniquer&) = delete;
  NameUniquer(NameUniquer&&) = default;
  NameUniquer& operator=(NameUniquer&&) = default;

  // Returns a name that differs from all earlier results and registrations. The
  // prefix is sanitized first; an empty prefix counts as "name".
  std::string GetUniqueName(absl::string_view prefix = "");

  // Marks `name` as taken, without sanitizing. False if it was taken before.
  bool RegisterName(absl::string_view name);

  // Returns `name` with every character that HLO names cannot hold replaced by
  // '_'. Names equal to a primitive type get a trailing '_', and the reserved
  // prefix "__" (except "__xla_") becomes "a_". Idempotent.
  static std::string GetSanitizedName(absl::string_view name);

  // True if GetSanitizedName(name) == name; allocates nothing.
  static bool IsSanitizedName(absl::string_view name);

 private:
  // Ids 0, 1, 2, ... with holes where an id was registered explicitly.
  class SequentialIdGenerator {
   public:
    // Returns `id` if it is free, else the next free id of the sequence.
    int64_t RegisterId(int64_t id);
    // Marks `id` as used; false if it was already.
    bool MarkUsed(int64_t id);

   private:
    int64_t next_ = 0;
    absl::flat_hash_set<int64_t> used_;
  };

  // Splits off a numeric id, which may have a sign and leading zeros. Overflow
  // and an empty root make the whole name the root.
  void Split(absl::string_view name, absl::string_view* root,
             int64_t* id) const;

  SequentialIdGenerator& GeneratorFor(absl::string_view root);

  std::string separator_;
  absl::flat_hash_map<std::string, SequentialIdGenerator> generated_names_;
};

}  // namespace xla

#endif  // XLA_HLO_IR_NAME_UNIQUER_H_
