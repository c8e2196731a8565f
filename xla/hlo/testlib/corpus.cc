#include "xla/hlo/testlib/corpus.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>
#include <vector>

namespace xla {

std::vector<std::string> HloFilesBelow(const std::string& folder) {
  std::vector<std::string> files;
  // Static initializers call this, where nothing catches exceptions.
  std::error_code error;
  std::filesystem::recursive_directory_iterator entry(folder, error);
  while (!error && entry != std::filesystem::end(entry)) {
    if (entry->path().extension() == ".hlo") files.push_back(entry->path());
    entry.increment(error);
  }
  if (error) std::cerr << folder << ": " << error.message() << "\n";
  std::sort(files.begin(), files.end());
  return files;
}

std::string CorpusFolder() {
  const char* folder = std::getenv("HLO_CORPUS");
  return folder == nullptr ? "" : folder;
}

std::vector<std::string> CorpusFiles(const std::string& bundled) {
  const std::string corpus = CorpusFolder();
  if (!corpus.empty()) return HloFilesBelow(corpus);
  std::cerr << "HLO_CORPUS is unset; reading " << bundled << "\n";
  return HloFilesBelow(bundled);
}

}  // namespace xla
