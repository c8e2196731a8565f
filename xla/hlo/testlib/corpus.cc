#include "xla/hlo/testlib/corpus.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

namespace xla {

std::vector<std::string> HloFilesBelow(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".hlo") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> CorpusFiles(const std::string& bundled) {
  const char* corpus = std::getenv("HLO_CORPUS");
  if (corpus != nullptr && *corpus != 0) return HloFilesBelow(corpus);
  std::cerr << "HLO_CORPUS is unset; reading " << bundled << "\n";
  return HloFilesBelow(bundled);
}

}  // namespace xla
