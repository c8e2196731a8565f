#ifndef XLA_HLO_UTILS_PATTERN_MATCHER_H_
#define XLA_HLO_UTILS_PATTERN_MATCHER_H_

// Patterns that match layouts, shapes and graphs of instructions.
//
//   namespace m = ::xla::match;
//   HloInstruction *x, *c;
//   if (Match(inst, m::MultiplyAnyOrder(m::Op(&x).WithOneUse(),
//                                       m::Constant(&c).WithShape(F32, {})))) {
//     ... x and c are set
//   }
//
// Matching allocates nothing as long as it succeeds with few captures and needs
// no explanation. In tests see GmockMatch and MatchOption::explain_os, which
// say why a match failed, from the innermost instruction outwards:
//
//   user count is 2, not 1
//   in x = f32[] parameter(0)
//   as operand 0
//   in m = f32[] multiply(x, c)

#include <functional>
#include <sstream>

#include "absl/log/log.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/utils/pattern_matcher_core.h"         // IWYU pragma: export
#include "xla/hlo/utils/pattern_matcher_instruction.h"  // IWYU pragma: export
#include "xla/hlo/utils/pattern_matcher_layout.h"       // IWYU pragma: export
#include "xla/hlo/utils/pattern_matcher_ops.h"          // IWYU pragma: export
#include "xla/hlo/utils/pattern_matcher_shape.h"        // IWYU pragma: export

namespace xla {

// As Match. If `instr` does not match and logging is on, the reason is logged
// under the name `desc`, unless `instr` does not even match `filter_pattern`.
template <typename FilterPattern, typename Pattern>
bool MatchAndLogIfFailed(HloInstruction* instr, absl::string_view desc,
                         const Pattern& pattern, bool enable_logging,
                         const FilterPattern& filter_pattern) {
  if (Match(instr, pattern)) return true;
  if (!enable_logging || !Match(instr, filter_pattern)) return false;
  std::ostringstream explanation;
  Match(instr, pattern,
        {/*capture=*/false, /*single_user_only=*/false,
         /*explain_os=*/&explanation});
  LOG(ERROR) << "no match of " << desc << ": " << explanation.str();
  return false;
}

// An instruction that a pattern meets in several places, where it must be the
// same one:
//   UniqueHloInstruction x;
//   Match(inst, Add(Op().WithPredicate(x.capture_or_verify_fn()),
//                   Exp(Op().WithPredicate(x.capture_or_verify_fn()))));
// The first instruction it sees stays, even if the match then fails.
class UniqueHloInstruction {
 public:
  UniqueHloInstruction() = default;
  // The functions handed out hold the address.
  UniqueHloInstruction(const UniqueHloInstruction&) = delete;
  UniqueHloInstruction& operator=(const UniqueHloInstruction&) = delete;

  HloInstruction* instr() const { return instr_; }
  void set_instr(HloInstruction* instr) { instr_ = instr; }
  // Sets the instruction if there is none yet; true if it is `instr`.
  bool CaptureOrVerify(HloInstruction* instr) { return SetOrCompare(instr); }
  std::function<bool(const HloInstruction*)> capture_or_verify_fn() const {
    return [this](const HloInstruction* instr) {
      return SetOrCompare(const_cast<HloInstruction*>(instr));
    };
  }

 private:
  bool SetOrCompare(HloInstruction* instr) const {
    if (instr_ == nullptr) instr_ = instr;
    return instr_ == instr;
  }
  mutable HloInstruction* instr_ = nullptr;
};

}  // namespace xla

#endif  // XLA_HLO_UTILS_PATTERN_MATCHER_H_
