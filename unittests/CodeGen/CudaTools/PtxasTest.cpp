//===- PtxasTest.cpp - Finding and running ptxas --------------------------===//
//
// A shell script replaces the assembler, so that the test does not need it.
//
//===----------------------------------------------------------------------===//
#include "tessera/CodeGen/CudaTools/Ptxas.h"
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace fs = std::filesystem;
using namespace tessera::cuda;

namespace {
class PtxasTest : public testing::Test {
protected:
  void SetUp() override {
    for (const char *name : {"TESSERA_PTXAS", "PATH", "VIRTUAL_ENV"})
      if (const char *value = std::getenv(name))
        saved.emplace_back(name, value);
    folder = fs::path(testing::TempDir()) /
             ("ptxas-" + std::to_string(::getpid()) +
              testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder);
  }
  void TearDown() override {
    for (const char *name : {"TESSERA_PTXAS", "PATH", "VIRTUAL_ENV"})
      ::unsetenv(name);
    for (auto &[name, value] : saved)
      ::setenv(name.c_str(), value.c_str(), 1);
    fs::remove_all(folder);
  }

  /// A program that answers `--version` with a release and otherwise runs `script`.
  fs::path install(const std::string &release, const std::string &script = "exit 0",
                   const std::string &under = "bin") {
    fs::path path = folder / under / "ptxas";
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "#!/bin/sh\nif [ \"$1\" = --version ]; then\n"
                        << "  echo 'Cuda compilation tools, release x, V" << release << "'\n"
                        << "  exit 0\nfi\nfor last; do :; done\n"
                        << script << "\n";
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }
  void name(const std::string &value) { ::setenv("TESSERA_PTXAS", value.c_str(), 1); }

  fs::path folder;
  std::string error;
  std::vector<std::pair<std::string, std::string>> saved;
};
} // namespace

TEST_F(PtxasTest, SaysHowToGetIt) {
  name("/nowhere/ptxas");
  EXPECT_FALSE(findPtxas({.chip = "sm_80"}, error));
  EXPECT_EQ(error,
            "TESSERA_PTXAS: '/nowhere/ptxas' is not NVIDIA's assembler; install it with `pip "
            "install nvidia-cuda-nvcc` or with CUDA; TESSERA_PTXAS can name the program");
}

TEST_F(PtxasTest, CanBeForbidden) {
  name("none");
  EXPECT_TRUE(isPtxasForbidden());
  EXPECT_FALSE(findPtxas({.chip = "sm_80"}, error));
  EXPECT_EQ(error, "TESSERA_PTXAS is 'none'");
}

TEST_F(PtxasTest, KnowsWhatReleasesHave) {
  name(install("13.0.88"));
  auto found = findPtxas({.chip = "sm_90a"}, error);
  ASSERT_TRUE(found) << error;
  EXPECT_EQ(found->release.text, "13.0.88");
  EXPECT_FALSE(findPtxas({.chip = "sm_70", .lastCuda = 1209}, error));
  EXPECT_NE(error.find("is release 13.0.88, which does not know sm_70: expected 12.9 or earlier; "
                       "install it with `pip install nvidia-cuda-nvcc-cu12` or with CUDA 12.9"),
            std::string::npos)
      << error;
  EXPECT_FALSE(findPtxas({.chip = "sm_130a", .firstCuda = 1401}, error));
  EXPECT_NE(error.find("expected 14.1 or later"), std::string::npos) << error;
}

TEST_F(PtxasTest, TakesTheFirstThatServes) {
  ::unsetenv("TESSERA_PTXAS");
  install("13.1.1", "exit 0", "later/bin");
  fs::path wheel =
      install("12.7.86", "exit 0", "environment/lib/python3.11/site-packages/nvidia/cuda_nvcc/bin");
  ::setenv("VIRTUAL_ENV", (folder / "environment").c_str(), 1);
  ::setenv("PATH", (folder / "later/bin").c_str(), 1);
  // The tree's own .venv, which comes first, has later and earlier ones.
  auto found = findPtxas({.chip = "sm_70", .firstCuda = 1207, .lastCuda = 1207}, error);
  ASSERT_TRUE(found) << error;
  EXPECT_EQ(found->path, fs::canonical(wheel));
}

TEST_F(PtxasTest, ReturnsCodeAndUse) {
  name(install("13.0.1", R"(cat "$4" >"$last"
echo "ptxas info    : 0 bytes gmem"
echo "ptxas info    : Compiling entry function 'first' for 'sm_90a'"
echo "ptxas info    : Function properties for first"
echo "    16 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads"
echo "ptxas info    : Used 255 registers, used 1 barriers, 4096 bytes smem"
echo "ptxas info    : Compiling entry function 'second' for 'sm_90a'"
echo "ptxas info    : Used 8 registers, used 0 barriers")"));
  auto ptxas = findPtxas({.chip = "sm_90a"}, error);
  ASSERT_TRUE(ptxas) << error;
  auto made = assemble(*ptxas, "text", "sm_90a", {}, error);
  ASSERT_TRUE(made) << error;
  EXPECT_EQ(std::string(made->cubin.begin(), made->cubin.end()), "text");
  ASSERT_EQ(made->kernels.size(), 2u);
  const KernelUse &first = made->kernels[0];
  EXPECT_EQ(first.name, "first");
  EXPECT_EQ(first.registers, 255u);
  EXPECT_EQ(first.stackBytes, 16u);
  EXPECT_EQ(first.spillStoreBytes, 12u);
  EXPECT_EQ(first.spillLoadBytes, 8u);
  EXPECT_EQ(first.sharedBytes, 4096u);
  EXPECT_EQ(made->kernels[1].registers, 8u);
  EXPECT_EQ(made->kernels[1].sharedBytes, 0u);
}

TEST_F(PtxasTest, PassesOptions) {
  name(install("13.0.1", R"(echo "$@" | cut -d' ' -f1-4 >"$last")"));
  auto ptxas = findPtxas({.chip = "sm_80"}, error);
  ASSERT_TRUE(ptxas) << error;
  auto made = assemble(*ptxas, "text", "sm_80", {.optimizationLevel = 1, .lineInfo = true}, error);
  ASSERT_TRUE(made) << error;
  EXPECT_EQ(std::string(made->cubin.begin(), made->cubin.end()),
            "--gpu-name=sm_80 --opt-level=1 --verbose --generate-line-info\n");
}

TEST_F(PtxasTest, TellsWhatItSaid) {
  name(install("13.0.1", "echo 'line 3; error: no such thing'; exit 255"));
  auto ptxas = findPtxas({.chip = "sm_80"}, error);
  ASSERT_TRUE(ptxas) << error;
  EXPECT_FALSE(assemble(*ptxas, "text", "sm_80", {}, error));
  EXPECT_EQ(error,
            "ptxas 13.0.1 refused code for sm_80 (status 255): line 3; error: no such thing\n");
}
