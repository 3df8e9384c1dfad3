// What the environment says of the processor this code runs on.
#include <gtest/gtest.h>

#include <utility>

#include "cpu/cpuid.hpp"
#include "support/setting.hpp"
#include "tessera/error.hpp"
#include "tessera/machine.hpp"

namespace tessera {
namespace {

TEST(HostMachine, TheEnvironmentSaysWhetherItSplits) {
  const bool may = host_machine().architecture == "amx";
  for (const auto& [name, splits] : {std::pair("TESSERA_SPLIT_F32", &Machine::splits_f32),
                                     {"TESSERA_SPLIT_F64", &Machine::splits_f64}}) {
    {
      const test::Setting on(name, "1");
      EXPECT_EQ(host_machine().*splits, may);
    }
    {
      const test::Setting off(name, "0");
      EXPECT_FALSE(host_machine().*splits);
    }
    {
      const test::Setting wrong(name, "yes");
      EXPECT_THROW(host_machine(), Error);
    }
    const test::Setting unset(name, nullptr);
    EXPECT_EQ(host_machine().*splits, may && cpu::is_granite_rapids_or_later());
  }
}

}  // namespace
}  // namespace tessera
