#include "xla/hlo/testlib/recorded.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <fstream>

#include "gtest/gtest.h"

namespace xla {

void ExpectRecorded(const std::string& path,
                    const std::vector<std::string>& lines) {
  const char* root = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  if (root != nullptr && std::getenv("HLO_RECORD") != nullptr) {
    std::ofstream file(std::string(root) + "/" + path);
    for (const std::string& line : lines) file << line << "\n";
    ASSERT_TRUE(file.good()) << path;
    return;
  }
  std::ifstream file(path);
  ASSERT_TRUE(file.good()) << "no record " << path;
  std::vector<std::string> recorded;
  for (std::string line; std::getline(file, line);) recorded.push_back(line);
  EXPECT_EQ(recorded.size(), lines.size()) << path;
  int differences = 0;
  for (size_t i = 0; i < std::min(recorded.size(), lines.size()); ++i) {
    if (recorded[i] == lines[i]) continue;
    if (++differences <= 10) {
      ADD_FAILURE() << path << ":" << i + 1 << "\n  recorded: " << recorded[i]
                    << "\n  now:      " << lines[i];
    }
  }
  EXPECT_EQ(differences, 0) << "lines of " << path;
}

}  // namespace xla
