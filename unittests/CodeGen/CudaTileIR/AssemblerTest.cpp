//===- AssemblerTest.cpp - Finding and running tileiras -------------------===//
//
// A shell script replaces the assembler, so that the test does not need it.
//
//===----------------------------------------------------------------------===//
#include "tessera/CodeGen/CudaTileIR/Bytecode/Assembler.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace fs = std::filesystem;
using namespace tessera::cudatile;

namespace {
class CudaTileAssembler : public testing::Test {
protected:
  void SetUp() override {
    for (const char *name : {"TESSERA_TILEIRAS", "CUDA_HOME"})
      if (const char *value = std::getenv(name))
        saved.emplace_back(name, value);
    // The version of a program is queried once: each test has its own program.
    folder = fs::path(testing::TempDir()) /
             ("tileiras-" + std::to_string(::getpid()) +
              testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder);
  }
  void TearDown() override {
    for (const char *name : {"TESSERA_TILEIRAS", "CUDA_HOME"})
      ::unsetenv(name);
    for (auto &[name, value] : saved)
      ::setenv(name.c_str(), value.c_str(), 1);
    fs::remove_all(folder);
  }

  /// A program that answers `--version` with a release and otherwise runs `script`.
  void install(const std::string &release, const std::string &script) {
    fs::path path = folder / "tileiras";
    std::ofstream(path) << "#!/bin/sh\nif [ \"$1\" = --version ]; then\n"
                        << "  echo 'Cuda compilation tools, release x, V" << release << "'\n"
                        << "  exit 0\nfi\nfor last; do :; done\n"
                        << script << "\n";
    fs::permissions(path, fs::perms::owner_all);
    ::setenv("TESSERA_TILEIRAS", path.c_str(), 1);
  }

  std::optional<Cubin> assembleAnything(std::string &error) {
    auto tileiras = findTileiras(error);
    if (!tileiras)
      return std::nullopt;
    return assemble(*tileiras, std::vector<uint8_t>{1, 2, 3}, {.architecture = "sm_80"}, error);
  }

  fs::path folder;
  std::vector<std::pair<std::string, std::string>> saved;
};
} // namespace

TEST_F(CudaTileAssembler, SaysHowToGetIt) {
  ::setenv("TESSERA_TILEIRAS", "/nowhere/tileiras", 1);
  std::string error;
  EXPECT_FALSE(findTileiras(error));
  EXPECT_NE(error.find("TESSERA_TILEIRAS names '/nowhere/tileiras'"), std::string::npos) << error;
  EXPECT_NE(error.find("make tileiras"), std::string::npos) << error;
}

TEST_F(CudaTileAssembler, RefusesOldReleases) {
  install("13.2.86", "exit 0");
  std::string error;
  EXPECT_FALSE(findTileiras(error));
  EXPECT_NE(error.find("is release 13.2.86, expected 13.3 or later"), std::string::npos) << error;
}

TEST_F(CudaTileAssembler, KnowsItsRelease) {
  install("13.3.36", "exit 0");
  std::string error;
  auto found = findTileiras(error);
  ASSERT_TRUE(found) << error;
  EXPECT_EQ(found->release, "13.3.36");
  EXPECT_EQ(found->newestFormat.str(), "13.3");
}

TEST_F(CudaTileAssembler, ReturnsWhatItWrote) {
  install("13.4.1", "printf '%s' \"$1\" >\"$last\"; echo 'remark: fine'");
  std::string error;
  auto cubin = assembleAnything(error);
  ASSERT_TRUE(cubin) << error;
  EXPECT_EQ(std::string(cubin->bytes.begin(), cubin->bytes.end()), "--gpu-name=sm_80");
  EXPECT_EQ(cubin->messages, "remark: fine\n");
}

TEST_F(CudaTileAssembler, AnErrorWithStatusZeroIsAnError) {
  install("13.4.1", "echo cubin >\"$last\"; echo 'error: no such thing' >&2; exit 0");
  std::string error;
  EXPECT_FALSE(assembleAnything(error));
  EXPECT_NE(error.find("no such thing"), std::string::npos) << error;
}

TEST_F(CudaTileAssembler, AStatusIsAnError) {
  install("13.4.1", "echo cubin >\"$last\"; exit 5");
  std::string error;
  EXPECT_FALSE(assembleAnything(error));
  EXPECT_NE(error.find("refused a module for sm_80 (status 5)"), std::string::npos) << error;
}

TEST_F(CudaTileAssembler, NoOutputIsAnError) {
  install("13.4.1", "exit 0");
  std::string error;
  EXPECT_FALSE(assembleAnything(error));
}

TEST_F(CudaTileAssembler, OtherCudasAreOutOfItsSight) {
  ::setenv("CUDA_HOME", "/old/cuda", 1);
  install("13.4.1", "printf '%s' \"<${CUDA_HOME-unset}>\" >\"$last\"");
  std::string error;
  auto cubin = assembleAnything(error);
  ASSERT_TRUE(cubin) << error;
  EXPECT_EQ(std::string(cubin->bytes.begin(), cubin->bytes.end()), "<unset>");
}
