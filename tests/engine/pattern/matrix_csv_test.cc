#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "engine/pattern/request_check.h"
#include "engine/pattern/traffic_matrix.h"
#include "tests/engine/pattern/delivery.h"

namespace hoccl::engine {
namespace {

std::string refused(std::string_view text) {
  return refusal([&] { matrix_from_csv(text, "m.csv"); });
}

TEST(MatrixCsv, ReadsRowsOfSourcesAndColumnsOfTargets) {
  TrafficMatrix expected(2, 2);
  expected << 1, 2,  //
      3, 1125899906842624;
  EXPECT_EQ(matrix_from_csv("1,2\n3,1125899906842624\n", "m.csv"), expected);
}

TEST(MatrixCsv, SkipsBlankLinesCommentsAndSpaces) {
  TrafficMatrix expected(2, 2);
  expected << 1, 2,  //
      3, 4;
  EXPECT_EQ(matrix_from_csv("# from, to\r\n\r\n 1,\t2 \r\n\n#\n3 , 4", "m.csv"), expected);
}

TEST(MatrixCsv, ReadsOneRank) {
  EXPECT_EQ(matrix_from_csv("7", "m.csv"), TrafficMatrix::Constant(1, 1, 7));
}

TEST(MatrixCsv, NamesLineAndColumnOfWhatIsNoSize) {
  const std::string expected = ": expected a whole number of bytes from 0 to 1125899906842624";
  EXPECT_EQ(refused("1,2\n3, 4KiB\n"), "m.csv:2:4: found '4KiB'" + expected);
  EXPECT_EQ(refused("1,\n3,4\n"), "m.csv:1:3: found ''" + expected);
  EXPECT_EQ(refused("1,2\n3,-4\n"), "m.csv:2:3: found '-4'" + expected);
  EXPECT_EQ(refused("1,2\n3,+4\n"), "m.csv:2:3: found '+4'" + expected);
  EXPECT_EQ(refused("1.5"), "m.csv:1:1: found '1.5'" + expected);
  EXPECT_EQ(refused("1 2"), "m.csv:1:1: found '1 2'" + expected);
  EXPECT_EQ(refused("1125899906842625"), "m.csv:1:1: found '1125899906842625'" + expected);
  EXPECT_EQ(refused("99999999999999999999999"),
            "m.csv:1:1: found '99999999999999999999999'" + expected);
  EXPECT_EQ(refused("\xff\x01"), "m.csv:1:1: found '" + std::string(2, '?') + "'" + expected);
  EXPECT_EQ(refused(std::string(41, 'x')),
            "m.csv:1:1: found '" + std::string(40, 'x') + "...'" + expected);
}

TEST(MatrixCsv, RefusesWhatIsNotSquare) {
  EXPECT_EQ(refused("1,2\n3\n"), "m.csv:2:2: found 1 numbers: expected 2, as in the first row");
  EXPECT_EQ(refused("1,2\n3,4,5\n"),
            "m.csv:2:5: found more than 2 numbers: expected as many as in the first row");
  EXPECT_EQ(refused("1,2\n"), "m.csv:2:1: found 1 rows: expected 2, as many as columns");
  EXPECT_EQ(refused("1,2\n3,4\n\n5,6\n"),
            "m.csv:4:1: found one row more: expected 2, as many as columns");
  EXPECT_EQ(refused(""), "m.csv:1:1: found no numbers: expected a row of sizes for every rank");
}

TEST(MatrixCsv, RefusesMoreRanksThanAPatternHas) {
  std::string row = "0";
  for (int i = 0; i < kMaxPairwiseRanks; ++i) row += ",0";
  EXPECT_EQ(refused(row),
            "m.csv:1:8193: found more than 4096 numbers: expected no more ranks than that");
}

TEST(MatrixCsv, SaysWhichFileCannotBeRead) {
  EXPECT_EQ(refusal([] { load_matrix("no/such.csv"); }),
            "no/such.csv: cannot be read: expected a traffic matrix (CSV)");
}

}  // namespace
}  // namespace hoccl::engine
