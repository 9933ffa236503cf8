//===- JitLinkTest.cpp - Finding and calling nvJitLink --------------------===//
#include "tessera/CodeGen/CudaTools/JitLink.h"
#include <cstdlib>
#include <gtest/gtest.h>

using namespace tessera::cuda;

namespace {
class JitLinkTest : public testing::Test {
protected:
  void TearDown() override { ::unsetenv("TESSERA_NVJITLINK"); }
  void name(const char *value) { ::setenv("TESSERA_NVJITLINK", value, 1); }

  std::string error;
};

constexpr const char *kKernel = R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry twice(.param .u64 at) {
  .reg .b64 %rd<2>;
  .reg .b32 %r<3>;
  ld.param.u64 %rd1, [at];
  ld.global.u32 %r1, [%rd1];
  add.u32 %r2, %r1, %r1;
  st.global.u32 [%rd1], %r2;
  ret;
}
)";
} // namespace

TEST_F(JitLinkTest, TakesTheNamedLibraryAlone) {
  name("none");
  EXPECT_FALSE(findJitLink({.chip = "sm_90a"}, error));
  EXPECT_EQ(error, "TESSERA_NVJITLINK is 'none'");
  name("/nowhere/libnvJitLink.so");
  EXPECT_FALSE(findJitLink({.chip = "sm_90a"}, error));
  EXPECT_EQ(error, "TESSERA_NVJITLINK: '/nowhere/libnvJitLink.so' is not NVIDIA's nvJitLink");
}

TEST_F(JitLinkTest, Assembles) {
  std::optional<JitLink> jitLink = findJitLink({.chip = "sm_90a"}, error);
  if (!jitLink)
    GTEST_SKIP() << "unsupported: nvJitLink is not installed: " << error;
  std::optional<AssembledPtx> made = assemble(*jitLink, kKernel, "sm_90a", {}, error);
  ASSERT_TRUE(made) << error;
  EXPECT_EQ(std::string(made->cubin.begin() + 1, made->cubin.begin() + 4), "ELF");
  ASSERT_EQ(made->kernels.size(), 1u);
  EXPECT_EQ(made->kernels[0].name, "twice");
  EXPECT_GT(made->kernels[0].registers, 0u);
  EXPECT_EQ(made->kernels[0].spillStoreBytes, 0u);
  EXPECT_FALSE(assemble(*jitLink, "no code", "sm_90a", {}, error));
  EXPECT_NE(error.find(" refused code for sm_90a: "), std::string::npos) << error;
}

TEST_F(JitLinkTest, KnowsWhatReleasesHave) {
  EXPECT_FALSE(findJitLink({.chip = "sm_130a", .firstCuda = 9901}, error));
  EXPECT_EQ(error, "nvJitLink was not found");
}
