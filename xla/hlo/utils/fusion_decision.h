#ifndef XLA_HLO_UTILS_FUSION_DECISION_H_
#define XLA_HLO_UTILS_FUSION_DECISION_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace xla {

// Whether two instructions may be fused, and if not, why.
//
//   FusionDecision Fits(..) {
//     if (bytes > limit) return FusionDecision::Forbid("too large");
//     return FusionDecision::Allow();
//   }
//   if (FusionDecision fits = Fits(..); !fits) LOG(..) << fits.Explain();
class [[nodiscard]] FusionDecision {
 public:
  static FusionDecision Allow() { return FusionDecision(); }
  // `reason`: a phrase for people, with the figures that decide.
  static FusionDecision Forbid(absl::string_view reason) {
    FusionDecision decision;
    decision.reason_ = std::string(reason);
    return decision;
  }

  bool CanFuse() const { return !reason_.has_value(); }
  bool IsForbidden() const { return !CanFuse(); }
  explicit operator bool() const { return CanFuse(); }
  // The reason; empty if fusion is allowed.
  std::string Explain() const { return reason_.value_or(""); }

  // Allowed if one of them is; both reasons otherwise.
  FusionDecision Or(const FusionDecision& other) const {
    if (CanFuse() || other.CanFuse()) return Allow();
    return Forbid(absl::StrCat(*reason_, "; ", *other.reason_));
  }
  // The same, asking only if need be.
  FusionDecision Or(const std::function<FusionDecision()>& other) const {
    return CanFuse() ? *this : Or(other());
  }
  // Allowed if both are; otherwise the first reason.
  FusionDecision And(const FusionDecision& other) const {
    return CanFuse() ? other : *this;
  }
  FusionDecision And(const std::function<FusionDecision()>& other) const {
    return CanFuse() ? other() : *this;
  }

  // Appends to the reason; nothing if fusion is allowed.
  FusionDecision operator<<(absl::string_view text) const& {
    return FusionDecision(*this) << text;
  }
  FusionDecision operator<<(absl::string_view text) && {
    if (reason_.has_value()) absl::StrAppend(&*reason_, text);
    return std::move(*this);
  }

 private:
  FusionDecision() = default;

  std::optional<std::string> reason_;
};

// In a function that returns a FusionDecision: returns if `decision` forbids.
#define RETURN_IF_NOT_FUSIBLE(...)                                      \
  do {                                                                  \
    ::xla::FusionDecision return_if_not_fusible_decision = __VA_ARGS__; \
    if (!return_if_not_fusible_decision) {                              \
      return return_if_not_fusible_decision;                            \
    }                                                                   \
  } while (false)

}  // namespace xla

#endif  // XLA_HLO_UTILS_FUSION_DECISION_H_
