#include "xla/hlo/ir/name_uniquer.h"

#include <set>
#include <string>

#include "gtest/gtest.h"

namespace xla {
namespace {

TEST(NameUniquerTest, CountsUpWhenANameIsTaken) {
  NameUniquer uniquer(".");
  EXPECT_EQ(uniquer.GetUniqueName("foo"), "foo");
  EXPECT_EQ(uniquer.GetUniqueName("foo"), "foo.1");
  EXPECT_EQ(uniquer.GetUniqueName("foo"), "foo.2");
  EXPECT_EQ(uniquer.GetUniqueName("bar"), "bar");
  EXPECT_EQ(uniquer.GetUniqueName("foo"), "foo.3");
}

TEST(NameUniquerTest, KeepsNumbersThatAreFree) {
  NameUniquer uniquer(".");
  EXPECT_EQ(uniquer.GetUniqueName("add.3"), "add.3");
  EXPECT_EQ(uniquer.GetUniqueName("add"), "add");
  EXPECT_EQ(uniquer.GetUniqueName("add"), "add.1");
  EXPECT_EQ(uniquer.GetUniqueName("add.3"), "add.2");
  EXPECT_EQ(uniquer.GetUniqueName("add.3"), "add.4");
  EXPECT_EQ(uniquer.GetUniqueName("add.1"), "add.5");
}

// What XLA itself answers, as jaxlib 0.12 has it.
TEST(NameUniquerTest, NumbersAreReadWhateverTheirForm) {
  NameUniquer uniquer(".");
  EXPECT_EQ(uniquer.GetUniqueName("x.007"), "x.7");
  EXPECT_EQ(uniquer.GetUniqueName("x.7"), "x.0");
  EXPECT_EQ(uniquer.GetUniqueName("x"), "x.1");
  EXPECT_EQ(uniquer.GetUniqueName("y"), "y");
  EXPECT_EQ(uniquer.GetUniqueName("y.0"), "y.1");
  EXPECT_EQ(uniquer.GetUniqueName("z.00"), "z.0");
  EXPECT_EQ(uniquer.GetUniqueName("z"), "z.1");
  EXPECT_EQ(uniquer.GetUniqueName("w.-5"), "w.-5");
  EXPECT_EQ(uniquer.GetUniqueName("w.-5"), "w.0");
  EXPECT_EQ(uniquer.GetUniqueName("v..1"), "v..1");
  EXPECT_EQ(uniquer.GetUniqueName("v..1"), "v..0");
  EXPECT_EQ(uniquer.GetUniqueName("u.9223372036854775807"),
            "u.9223372036854775807");
  EXPECT_EQ(uniquer.GetUniqueName("u.9223372036854775807"), "u.0");
}

TEST(NameUniquerTest, SuffixesThatAreNoNumbersBelongToTheRoot) {
  NameUniquer uniquer(".");
  EXPECT_EQ(uniquer.GetUniqueName("x.remat"), "x.remat");
  EXPECT_EQ(uniquer.GetUniqueName("x.remat"), "x.remat.1");
  EXPECT_EQ(uniquer.GetUniqueName("x.remat.1"), "x.remat.2");
  EXPECT_EQ(uniquer.GetUniqueName("x.0x1"), "x.0x1");
  EXPECT_EQ(uniquer.GetUniqueName("x.0x1"), "x.0x1.1");
  EXPECT_EQ(uniquer.GetUniqueName("x."), "x.");
  EXPECT_EQ(uniquer.GetUniqueName("x."), "x..1");
  EXPECT_EQ(uniquer.GetUniqueName("x.9223372036854775808"),
            "x.9223372036854775808");
  EXPECT_EQ(uniquer.GetUniqueName("x.9223372036854775808"),
            "x.9223372036854775808.1");
  EXPECT_EQ(uniquer.GetUniqueName("x"), "x");
}

TEST(NameUniquerTest, ATakenNumberNeverYieldsTheBareRoot) {
  NameUniquer uniquer(".");
  EXPECT_EQ(uniquer.GetUniqueName("x.7"), "x.7");
  EXPECT_EQ(uniquer.GetUniqueName("x.7.1"), "x.7.1");
  EXPECT_EQ(uniquer.GetUniqueName("x.7.1"), "x.7.0");
  EXPECT_EQ(uniquer.GetUniqueName("x.7.1"), "x.7.2");
  EXPECT_EQ(uniquer.GetUniqueName("x.7.0"), "x.7.3");
  EXPECT_EQ(uniquer.GetUniqueName("add.3"), "add.3");
  EXPECT_EQ(uniquer.GetUniqueName("add.3"), "add.0");
  EXPECT_EQ(uniquer.GetUniqueName("add"), "add.1");
}

TEST(NameUniquerTest, AZerothNameThatIsTakenIsSkipped) {
  NameUniquer uniquer(".");
  EXPECT_TRUE(uniquer.RegisterName("x.7.0"));
  EXPECT_EQ(uniquer.GetUniqueName("x.7.2"), "x.7.2");
  EXPECT_EQ(uniquer.GetUniqueName("x.7.2"), "x.7.1");
}

TEST(NameUniquerTest, NoNameComesTwice) {
  NameUniquer uniquer(".");
  std::set<std::string> names;
  for (int round = 0; round < 5; ++round) {
    for (const char* prefix : {"x", "x.0", "x.1", "x.7", "x.7.0", "x.7.1",
                               "x.7.0.3", "x.1.1", "x.0.1", "x.0.0"}) {
      const std::string name = uniquer.GetUniqueName(prefix);
      EXPECT_TRUE(names.insert(name).second) << name << " for " << prefix;
    }
  }
}

TEST(NameUniquerTest, RegisteredNamesAreTaken) {
  NameUniquer uniquer(".");
  EXPECT_TRUE(uniquer.RegisterName("a"));
  EXPECT_TRUE(uniquer.RegisterName("a.1"));
  EXPECT_FALSE(uniquer.RegisterName("a"));
  EXPECT_EQ(uniquer.GetUniqueName("a"), "a.2");
}

TEST(NameUniquerTest, OtherSeparators) {
  NameUniquer uniquer("__");
  EXPECT_EQ(uniquer.GetUniqueName("foo"), "foo");
  EXPECT_EQ(uniquer.GetUniqueName("foo"), "foo__1");
  EXPECT_EQ(uniquer.GetUniqueName("foo.1"), "foo.1");
}

TEST(NameUniquerTest, EmptyPrefix) {
  NameUniquer uniquer(".");
  EXPECT_EQ(uniquer.GetUniqueName(), "name");
  EXPECT_EQ(uniquer.GetUniqueName(""), "name.1");
}

TEST(NameUniquerTest, Sanitizing) {
  EXPECT_EQ(NameUniquer::GetSanitizedName(""), "");
  EXPECT_EQ(NameUniquer::GetSanitizedName("foo-bar.1"), "foo-bar.1");
  EXPECT_EQ(NameUniquer::GetSanitizedName("CamelCase"), "CamelCase");
  EXPECT_EQ(NameUniquer::GetSanitizedName("foo bar$#"), "foo_bar__");
  EXPECT_EQ(NameUniquer::GetSanitizedName("1foo"), "_foo");
  EXPECT_EQ(NameUniquer::GetSanitizedName("\xc3\xa9"), "a_");
  EXPECT_EQ(NameUniquer::GetSanitizedName("__reserved"), "a_reserved");
  EXPECT_EQ(NameUniquer::GetSanitizedName("__xla_ok"), "__xla_ok");
  EXPECT_EQ(NameUniquer::GetSanitizedName("f32"), "f32_");
  EXPECT_EQ(NameUniquer::GetSanitizedName("tuple"), "tuple");
  EXPECT_EQ(NameUniquer::GetSanitizedName("buffer"), "buffer");
}

TEST(NameUniquerTest, SanitizingTwiceChangesNothing) {
  for (const char* name : {"", "a", "f32", "__x", "9", " ", "bf16", "s32.1",
                           "__xla_", "a b", "\xff\xff\xff"}) {
    const std::string once = NameUniquer::GetSanitizedName(name);
    EXPECT_EQ(NameUniquer::GetSanitizedName(once), once) << name;
    EXPECT_TRUE(NameUniquer::IsSanitizedName(once)) << name;
    EXPECT_EQ(NameUniquer::IsSanitizedName(name), once == name) << name;
  }
}

TEST(NameUniquerTest, ManyNamesOfOneRoot) {
  NameUniquer uniquer(".");
  for (int i = 0; i < 100000; ++i) uniquer.GetUniqueName("x");
  EXPECT_EQ(uniquer.GetUniqueName("x"), "x.100000");
}

}  // namespace
}  // namespace xla
