#include "xla/hlo/pipeline/page/memory_page.h"

#include <string>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace xla {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

int Count(absl::string_view text, absl::string_view part) {
  int count = 0;
  for (size_t at = text.find(part); at != text.npos;
       at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST(MemoryPageTest, NamesAreNoMarkup) {
  MemoryPage page;
  page.mutable_memory()->set_module("</title><b>");
  page.add_strings("</script><script>alert(1)</script><!--");
  const std::string html = *MemoryPageToHtml(page, "a < b</pre>");
  EXPECT_THAT(html, HasSubstr("<title>&lt;/title&gt;&lt;b&gt;"));
  EXPECT_THAT(html, Not(HasSubstr("alert(1)</script>")));
  EXPECT_THAT(html, HasSubstr("\\u003c/script\\u003e"));
  EXPECT_THAT(html, HasSubstr("a &lt; b&lt;/pre&gt;"));
  // The data and the program, which end once each.
  EXPECT_EQ(Count(html, "<script"), 2);
  EXPECT_EQ(Count(html, "</script"), 2);
}

TEST(MemoryPageTest, PlaceholdersInNamesStay) {
  MemoryPage page;
  page.add_strings("@SCRIPT@");
  EXPECT_THAT(*MemoryPageToHtml(page, "@DATA@"), HasSubstr("\"@SCRIPT@\""));
}

TEST(MemoryPageTest, NeedsNoNetwork) {
  const std::string html = *MemoryPageToHtml(MemoryPage(), "");
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_THAT(html, Not(HasSubstr("http://")));
  EXPECT_THAT(html, Not(HasSubstr("https://")));
  EXPECT_THAT(html, Not(HasSubstr("src=\"")));
}

}  // namespace
}  // namespace xla
