#ifndef XLA_HLO_PIPELINE_PAGE_MEMORY_PAGE_FILES_H_
#define XLA_HLO_PIPELINE_PAGE_MEMORY_PAGE_FILES_H_

#include "absl/strings/string_view.h"

namespace xla {

// The files memory_page.{html,css,js}, as the build puts them into the binary.
absl::string_view MemoryPageHtml();
absl::string_view MemoryPageCss();
absl::string_view MemoryPageJs();

}  // namespace xla

#endif  // XLA_HLO_PIPELINE_PAGE_MEMORY_PAGE_FILES_H_
