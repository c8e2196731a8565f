#include "xla/errors.h"

#include <string>

#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace xla {
namespace {

absl::Status WithMessage(const absl::Status& prior, const std::string& text) {
  absl::Status result(prior.code(), text);
  prior.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
    result.SetPayload(url, payload);
  });
  return result;
}

}  // namespace

absl::Status AddStatus(absl::Status prior, absl::string_view context) {
  CHECK(!prior.ok());
  return WithMessage(prior, absl::StrCat(context, ": ", prior.message()));
}

absl::Status AppendStatus(absl::Status prior, absl::string_view context) {
  CHECK(!prior.ok());
  return WithMessage(prior, absl::StrCat(prior.message(), ": ", context));
}

}  // namespace xla
