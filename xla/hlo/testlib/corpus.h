#ifndef XLA_HLO_TESTLIB_CORPUS_H_
#define XLA_HLO_TESTLIB_CORPUS_H_

#include <string>
#include <vector>

// The modules that tests of real modules read.

namespace xla {

// The .hlo files of a folder and its subfolders, sorted.
std::vector<std::string> HloFilesBelow(const std::string& folder);

// Those of the folder that the environment variable HLO_CORPUS names. Where it
// is unset, those of `bundled`, which standard error then says.
std::vector<std::string> CorpusFiles(const std::string& bundled);

}  // namespace xla

#endif  // XLA_HLO_TESTLIB_CORPUS_H_
