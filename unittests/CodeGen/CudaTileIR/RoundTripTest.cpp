//===- RoundTripTest.cpp - Files of NVIDIA's frontend ---------------------===//
#include "Files.h"
#include "tessera/CodeGen/CudaTileIR/Bytecode/Module.h"
#include <gtest/gtest.h>
#include <random>

using namespace tessera::cudatile;

TEST(CudaTileRoundTrip, EveryFileComesBackByteByByte) {
  std::vector<InputFile> files = inputFiles();
  ASSERT_GE(files.size(), 40u);
  for (const InputFile &file : files) {
    std::string error;
    auto module = readModule(file.bytes, error);
    ASSERT_TRUE(module) << file.name << ": " << error;
    EXPECT_EQ(verifyModule(*module).value_or(""), "") << file.name;
    auto bytes = writeModule(*module, error);
    ASSERT_TRUE(bytes) << file.name << ": " << error;
    EXPECT_EQ(*bytes, file.bytes) << file.name;
  }
}

TEST(CudaTileRoundTrip, OlderFilesBecomeNewerOnes) {
  for (const InputFile &file : inputFiles()) {
    std::string error;
    Module module = *readModule(file.bytes, error);
    std::string before = printModule(module);
    for (uint8_t minor = module.version.minor; minor <= kNewestMinor; ++minor) {
      module.version.minor = minor;
      auto bytes = writeModule(module, error);
      if (!bytes) {
        // The only operation that has more results in a later format.
        EXPECT_EQ(error, "expected 1 results of 'print_tko' in format 13.2, got 0") << file.name;
        break;
      }
      auto again = readModule(*bytes, error);
      ASSERT_TRUE(again) << file.name << " as 13." << int(minor) << ": " << error;
      // The text differs only in the version.
      std::string after = printModule(*again);
      EXPECT_EQ(after.substr(after.find('{')), before.substr(before.find('{'))) << file.name;
    }
  }
}

TEST(CudaTileRoundTrip, Text) {
  for (const InputFile &file : inputFiles()) {
    if (file.name != "vector_add-13.3.tileirbc")
      continue;
    std::string error;
    std::string text = printModule(*readModule(file.bytes, error));
    EXPECT_NE(text.find("cuda_tile.module 13.3 {\n  entry @vector_add(%0: tile<ptr<f32>>"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("{div_by<16>} : tile<ptr<f32>>"), std::string::npos) << text;
    EXPECT_NE(text.find("= addf "), std::string::npos) << text;
    EXPECT_NE(text.find("    return\n"), std::string::npos) << text;
  }
}

//===----------------------------------------------------------------------===//
// Malformed files
//===----------------------------------------------------------------------===//

static std::string errorOf(std::vector<uint8_t> bytes) {
  std::string error;
  return readModule(bytes, error) ? "" : error;
}

TEST(CudaTileMalformed, SaysWhatIsWrong) {
  std::vector<uint8_t> good = inputFiles().front().bytes;
  EXPECT_EQ(errorOf({}), "offset 0: unexpected end");
  EXPECT_NE(errorOf({'E', 'L', 'F'}).find("expected CUDA Tile IR bytecode"), std::string::npos);
  std::vector<uint8_t> bytes = good;
  bytes[9] = 9;
  EXPECT_NE(errorOf(bytes).find("expected format 13.1 to 13.4, got 13.9"), std::string::npos);
  bytes = good;
  bytes[12] = 0x1F;
  EXPECT_NE(errorOf(bytes).find("unknown section 31"), std::string::npos);
  bytes = good;
  bytes.push_back(0);
  EXPECT_NE(errorOf(bytes).find("bytes after the end"), std::string::npos);
  bytes = good;
  bytes.resize(12);
  bytes.push_back(0);
  EXPECT_NE(errorOf(bytes).find("there is no string section"), std::string::npos);
}

TEST(CudaTileMalformed, EveryPrefixIsRefused) {
  for (const InputFile &file : inputFiles())
    for (size_t size = 0; size < file.bytes.size(); ++size)
      ASSERT_NE(errorOf({file.bytes.begin(), file.bytes.begin() + size}), "") << file.name;
}

/// Every module that can be read can be printed, verified and written.
static void readAndUse(const std::vector<uint8_t> &bytes) {
  std::string error;
  auto module = readModule(bytes, error);
  ASSERT_EQ(module.has_value(), error.empty());
  if (!module)
    return;
  printModule(*module);
  verifyModule(*module);
  auto written = writeModule(*module, error);
  ASSERT_TRUE(written) << error;
  auto again = readModule(*written, error);
  ASSERT_TRUE(again) << error;
}

TEST(CudaTileMalformed, MutationsNeverCrash) {
  std::vector<InputFile> files = inputFiles();
  std::mt19937 random(20);
  auto below = [&](size_t limit) { return size_t(random() % limit); };
  for (int round = 0; round < 40000; ++round) {
    std::vector<uint8_t> bytes = files[below(files.size())].bytes;
    size_t changes = 1 + below(4);
    for (size_t i = 0; i < changes && !bytes.empty(); ++i) {
      size_t at = below(bytes.size());
      static constexpr uint8_t odd[] = {0, 1, 0x7F, 0x80, 0xFF, 0xCB};
      switch (below(6)) {
      case 0:
        bytes[at] ^= uint8_t(1) << below(8);
        break;
      case 1:
        bytes[at] = odd[below(std::size(odd))];
        break;
      case 2:
        bytes[at] += uint8_t(below(2) ? 1 : 255);
        break;
      case 3:
        bytes.erase(bytes.begin() + at);
        break;
      case 4:
        bytes.insert(bytes.begin() + at, uint8_t(random()));
        break;
      default: {
        const std::vector<uint8_t> &other = files[below(files.size())].bytes;
        size_t from = below(other.size());
        size_t size = std::min({below(16) + 1, other.size() - from, bytes.size() - at});
        std::copy_n(other.begin() + from, size, bytes.begin() + at);
      }
      }
    }
    readAndUse(bytes);
    ASSERT_FALSE(HasFatalFailure()) << "round " << round;
  }
}
