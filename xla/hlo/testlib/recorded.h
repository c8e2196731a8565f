#ifndef XLA_HLO_TESTLIB_RECORDED_H_
#define XLA_HLO_TESTLIB_RECORDED_H_

#include <string>
#include <vector>

namespace xla {

// Holds what a solver answers, a line for each problem, against the lines that
// a file of the source tree has. Heuristics are right in many ways; a record
// shows what a change does to how good they are: each line that differs is a
// failure of the test that calls this, ten of them in words.
//
//   ExpectRecorded("xla/hlo/memory/graph/testdata/orders.txt", lines);
//
// `path`: from the workspace's root; the file belongs to the test's data. A
// change that is meant is recorded by
//
//   HLO_RECORD=1 ./bazelw run //xla/hlo/memory/graph:order_record_test
void ExpectRecorded(const std::string& path,
                    const std::vector<std::string>& lines);

}  // namespace xla

#endif  // XLA_HLO_TESTLIB_RECORDED_H_
