#ifndef XLA_HLO_TESTLIB_CORPUS_H_
#define XLA_HLO_TESTLIB_CORPUS_H_

#include <string>
#include <vector>

// The modules that tests of real modules read.

namespace xla {

// The .hlo files of a folder and its subfolders, sorted. Of a folder that
// cannot be read, those found before; standard error then says why.
std::vector<std::string> HloFilesBelow(const std::string& folder);

// The folder that the environment variable HLO_CORPUS names; empty if it is
// unset.
std::string CorpusFolder();

// The files below CorpusFolder(). Where that is empty, those below `bundled`,
// which standard error then says.
std::vector<std::string> CorpusFiles(const std::string& bundled);

}  // namespace xla

#endif  // XLA_HLO_TESTLIB_CORPUS_H_
