//===- BundleTest.cpp - Bundles: round trip, corruption, machine code -----===//

#include "Programs.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <signal.h>
#include <thread>
#include <unistd.h>

using namespace tessera::rt;

/// A kernel `void k(const int64_t *args, …) { *(int64_t *)args[0] = args[1]; }` for the host.
static std::vector<uint8_t> storeCode() {
#if defined(__x86_64__)
  return {0x48, 0x8b, 0x07,        // mov rax, [rdi]
          0x48, 0x8b, 0x4f, 0x08,  // mov rcx, [rdi + 8]
          0x48, 0x89, 0x08, 0xc3}; // mov [rax], rcx; ret
#else
  const uint32_t words[] = {0xa9400408,  // ldp x8, x1, [x0]
                            0xf9000101,  // str x1, [x8]
                            0xd65f03c0}; // ret
  std::vector<uint8_t> bytes(sizeof(words));
  std::memcpy(bytes.data(), words, sizeof(words));
  return bytes;
#endif
}

static std::string hostArch() { return hostTarget().substr(0, hostTarget().find(':')); }

static CodeImage image(std::string target) {
  return {std::move(target), {{"k", 16, 0, {}}}, [] {
            std::vector<uint8_t> code(16, 0xcc), body = storeCode();
            code.insert(code.end(), body.begin(), body.end());
            return code;
          }()};
}

/// One int argument that is stored at result 0.
static Program storeProgram(int64_t add = 0) {
  Program program;
  program.arguments = {{Argument::Int, "i"}};
  program.slots = {{Slot::ArgInt, 0, 0, {}}};
  program.results = {{DType::Int64, {}}};
  program.kernels = {"k"};
  Step step;
  step.grid = {Expr::constant(1)};
  Word out, value;
  out.kind = Word::ResultAddress;
  value.expr = Expr::binary(ExprOp::Add, Expr::slot(0), Expr::constant(add));
  step.words = {out, value};
  program.steps = {step};
  return program;
}

static Bundle goodBundle() {
  Bundle bundle;
  bundle.manifest = "{\"name\": \"store\"}";
  bundle.images = {image(hostArch() + ":")};
  bundle.functions = {{"store", 0, encode(storeProgram())}};
  return bundle;
}

/// The same with code for GPUs too.
static Bundle wideBundle() {
  Bundle bundle = goodBundle();
  for (const char *target : {"sm_80:tileir,x86_64", "sm_90:tileir,aarch64", "sm_80:ptx"}) {
    CodeImage &gpu = bundle.images.emplace_back();
    gpu.target = target;
    gpu.code.assign(100, 0x20);
    KernelEntry &kernel = gpu.kernels.emplace_back();
    kernel.name = "k";
    kernel.shape.cluster[0] = 2;
    kernel.shape.flags = KernelShape::Dependent;
    bundle.functions.push_back(
        {"store", static_cast<uint32_t>(bundle.images.size()) - 1, encode(storeProgram())});
  }
  bundle.functions.back().more = {1};
  return bundle;
}

static int64_t callStore(const tessera_rt_function *function, int64_t argument) {
  tessera_rt_value arg = {};
  arg.kind = TESSERA_RT_INT;
  arg.as.integer = argument;
  tessera_rt_frame *frame = nullptr;
  EXPECT_EQ(tessera_rt_prepare(function, &arg, 1, &frame), TESSERA_RT_OK)
      << tessera_rt_last_error();
  int64_t result = 0;
  void *results[] = {&result};
  EXPECT_EQ(tessera_rt_execute(frame, results), TESSERA_RT_OK);
  tessera_rt_frame_release(frame);
  return result;
}

static tessera_rt_status tryLoad(const Bundle &bundle, tessera_rt_module **module) {
  std::vector<uint8_t> bytes = encode(bundle);
  return tessera_rt_load(bytes.data(), bytes.size(), module);
}

TEST(Bundle, RunsMachineCode) {
  tessera_rt_module *module = nullptr;
  ASSERT_EQ(tryLoad(goodBundle(), &module), TESSERA_RT_OK) << tessera_rt_last_error();
  size_t length = 0;
  EXPECT_STREQ(tessera_rt_module_manifest(module, &length), "{\"name\": \"store\"}");
  EXPECT_EQ(length, 17u);
  EXPECT_EQ(tessera_rt_function_count(module), 1u);
  const tessera_rt_function *function = tessera_rt_find_function(module, "store", 0);
  ASSERT_NE(function, nullptr);
  EXPECT_EQ(tessera_rt_find_function(module, "store", 1), nullptr);
  EXPECT_EQ(tessera_rt_find_function(module, "other", 0), nullptr);
  EXPECT_STREQ(tessera_rt_function_name(function), "store");
  EXPECT_EQ(tessera_rt_function_argument_count(function), 1);
  EXPECT_EQ(tessera_rt_function_result_count(function), 1);
  EXPECT_EQ(callStore(function, 42), 42);
  tessera_rt_module_release(module);
}

TEST(Bundle, RoundTripAndFile) {
  Bundle bundle = wideBundle(), again;
  std::vector<uint8_t> bytes = encode(bundle);
  std::string error;
  ASSERT_TRUE(decode(bytes, again, error)) << error;
  EXPECT_EQ(encode(again), bytes);

  std::string path = testing::TempDir() + "tessera-bundle-test.tsb";
  FILE *file = std::fopen(path.c_str(), "wb");
  std::fwrite(bytes.data(), 1, bytes.size(), file);
  std::fclose(file);
  tessera_rt_module *module = nullptr;
  EXPECT_EQ(tessera_rt_load_file(path.c_str(), &module), TESSERA_RT_OK);
  tessera_rt_module_release(module);
  std::remove(path.c_str());
  EXPECT_EQ(tessera_rt_load_file(path.c_str(), &module), TESSERA_RT_IO);
  EXPECT_NE(std::string(tessera_rt_last_error()).find("No such file"), std::string::npos);
}

TEST(Bundle, ForeignCodeIsRefused) {
  tessera_rt_module *module = nullptr;
  Bundle bundle = goodBundle();
  bundle.images[0].target = "riscv64:";
  EXPECT_EQ(tryLoad(bundle, &module), TESSERA_RT_UNSUPPORTED);
  EXPECT_EQ(std::string(tessera_rt_last_error()),
            "the bundle has no code for this machine: the code is for riscv64, this machine is " +
                hostArch());
  bundle.images[0].target = hostArch() + ":warp-drive";
  EXPECT_EQ(tryLoad(bundle, &module), TESSERA_RT_UNSUPPORTED);
  EXPECT_NE(std::string(tessera_rt_last_error()).find("'warp-drive'"), std::string::npos);
  bundle.images[0].target = hostTarget();
  ASSERT_EQ(tryLoad(bundle, &module), TESSERA_RT_OK) << tessera_rt_last_error();
  tessera_rt_module_release(module);
}

TEST(Bundle, TheFirstUsableImageOfAFunctionIsTaken) {
  Bundle bundle = goodBundle();
  // Images of one target belong together; the last one is usable too, but comes later.
  bundle.images = {image("riscv64:"), image(hostArch() + ":"), image(hostTarget()),
                   image(hostArch() + ":")};
  bundle.functions = {{"store", 0, encode(storeProgram(100))},
                      {"store", 1, encode(storeProgram(200))},
                      {"store", 1, encode(storeProgram(300))},
                      {"store", 2, encode(storeProgram(400))},
                      {"store", 3, encode(storeProgram(500))}};
  tessera_rt_module *module = nullptr;
  ASSERT_EQ(tryLoad(bundle, &module), TESSERA_RT_OK) << tessera_rt_last_error();
  ASSERT_EQ(tessera_rt_function_count(module), 3u);
  EXPECT_EQ(callStore(tessera_rt_function_at(module, 0), 1), 201);
  EXPECT_EQ(callStore(tessera_rt_find_function(module, "store", 1), 1), 301);
  EXPECT_EQ(callStore(tessera_rt_find_function(module, "store", 2), 1), 501);
  tessera_rt_module_release(module);
}

TEST(Bundle, WrongReferencesAreRefused) {
  tessera_rt_module *module = nullptr;
  Bundle bundle = goodBundle();
  bundle.functions[0].image = 1;
  EXPECT_EQ(tryLoad(bundle, &module), TESSERA_RT_INVALID);
  bundle = goodBundle();
  bundle.functions[0].more = {1};
  EXPECT_EQ(tryLoad(bundle, &module), TESSERA_RT_INVALID);
  EXPECT_STREQ(tessera_rt_last_error(),
               "invalid bundle: function 'store' names an image that is not there");
  bundle = goodBundle();
  bundle.images[0].kernels[0].offset = bundle.images[0].code.size();
  EXPECT_EQ(tryLoad(bundle, &module), TESSERA_RT_INVALID);
  bundle = goodBundle();
  bundle.images[0].kernels[0].name = "other";
  EXPECT_EQ(tryLoad(bundle, &module), TESSERA_RT_INVALID);
  EXPECT_NE(std::string(tessera_rt_last_error()).find("kernel 'k'"), std::string::npos);
}

TEST(Bundle, LoadsInMilliseconds) {
  if (tessera::rt::test::isInstrumented)
    GTEST_SKIP() << "the code is instrumented";
  // A library of two hundred functions with four megabytes of code for several targets.
  Bundle bundle = wideBundle();
  for (CodeImage &image : bundle.images)
    image.code.resize(1 << 20, 0xcc);
  for (int i = 0; i < 200; ++i)
    bundle.functions.push_back({"f" + std::to_string(i), 0, encode(tessera::rt::test::axpy())});
  for (const char *name : {"copy", "scale"})
    bundle.images[0].kernels.push_back({name, 16, 0, {}});
  std::vector<uint8_t> bytes = encode(bundle);
  // On a busy machine most rounds are interrupted.
  constexpr int rounds = 20, mostRounds = 500;
  constexpr double limit = 5;
  double best = 1e9;
  for (int round = 0; round < rounds || (best >= limit && round < mostRounds); ++round) {
    auto start = std::chrono::steady_clock::now();
    tessera_rt_module *module = nullptr;
    ASSERT_EQ(tessera_rt_load(bytes.data(), bytes.size(), &module), TESSERA_RT_OK)
        << tessera_rt_last_error();
    std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
    best = std::min(best, spent.count());
    tessera_rt_module_release(module);
  }
  RecordProperty("microseconds", static_cast<int>(best * 1000));
  EXPECT_LT(best, limit);
}

TEST(Bundle, BundlesAreAppended) {
  Bundle bundle = goodBundle(), other = goodBundle(), third = goodBundle();
  other.images.push_back(other.images[0]);
  other.images[0].target = hostTarget();
  other.functions[0].more = {1};
  other.functions[0].program = encode(storeProgram(1000));
  append(bundle, other);
  third.functions[0].name = "another";
  append(bundle, third);
  EXPECT_EQ(bundle.images.size(), 2u); // the third has the first one's code
  ASSERT_EQ(bundle.functions.size(), 3u);
  EXPECT_EQ(bundle.functions[1].image, 1u);
  EXPECT_EQ(bundle.functions[1].more, std::vector<uint32_t>{0});
  EXPECT_EQ(bundle.functions[2].image, 0u);
  tessera_rt_module *module = nullptr;
  ASSERT_EQ(tryLoad(bundle, &module), TESSERA_RT_OK) << tessera_rt_last_error();
  EXPECT_EQ(tessera_rt_function_count(module), 2u);
  EXPECT_EQ(callStore(tessera_rt_find_function(module, "store", 0), 5), 5);
  tessera_rt_module_release(module);
}

TEST(Bundle, WrongShapesAreRefused) {
  tessera_rt_module *module = nullptr;
  for (int wrong = 0; wrong < 3; ++wrong) {
    Bundle bundle = wideBundle();
    KernelShape &shape = bundle.images[1].kernels[0].shape;
    (wrong == 0   ? shape.block[1]
     : wrong == 1 ? shape.cluster[2]
                  : shape.flags) = wrong == 2 ? 0x100 : 0;
    EXPECT_EQ(tryLoad(bundle, &module), TESSERA_RT_INVALID);
    EXPECT_STREQ(tessera_rt_last_error(), "invalid bundle: section 2 is malformed");
  }
}

TEST(Bundle, OtherVersionsAreRefused) {
  std::vector<uint8_t> bytes = encode(goodBundle());
  tessera_rt_module *module = nullptr;
  bytes[4] = 9;
  EXPECT_EQ(tessera_rt_load(bytes.data(), bytes.size(), &module), TESSERA_RT_INVALID);
  EXPECT_STREQ(tessera_rt_last_error(), "invalid bundle: it is of version 9, this runtime reads "
                                        "version 4: a newer runtime is needed");
  for (uint8_t old : {1, 3}) {
    bytes[4] = old;
    EXPECT_EQ(tessera_rt_load(bytes.data(), bytes.size(), &module), TESSERA_RT_INVALID);
    EXPECT_EQ(tessera_rt_last_error(),
              "invalid bundle: it is of version " + std::to_string(old) +
                  ", this runtime reads version 4: build it again with this release");
  }
}

/// With the length and the checksums corrected.
static std::vector<uint8_t> repaired(std::vector<uint8_t> bytes) {
  auto word = [&](size_t at) {
    uint64_t value;
    std::memcpy(&value, &bytes[at], 8);
    return value;
  };
  auto set = [&](size_t at, uint64_t value) { std::memcpy(&bytes[at], &value, 8); };
  size_t sections = word(16) & 0xffffffff;
  set(8, bytes.size());
  for (size_t at = 32; at < 32 + 32 * sections; at += 32)
    if (word(at + 8) <= bytes.size() && word(at + 16) <= bytes.size() - word(at + 8))
      set(at + 24, checksum({&bytes[word(at + 8)], word(at + 16)}));
  set(24, 0);
  set(24, checksum({bytes.data(), 32 + 32 * sections}));
  return bytes;
}

static std::string refusalOf(const std::vector<uint8_t> &bytes) {
  tessera_rt_module *module = nullptr;
  EXPECT_EQ(tessera_rt_load(bytes.data(), bytes.size(), &module), TESSERA_RT_INVALID);
  return tessera_rt_last_error();
}

// A section that many table entries reference would be copied as many times.
TEST(Bundle, SectionsThatOverlapAreRefused) {
  Bundle bundle = goodBundle();
  for (int i = 0; i < 1000; ++i)
    bundle.functions.push_back(bundle.functions[0]);
  bundle.images[0].code.resize(1 << 20, 0xcc);
  std::vector<uint8_t> bytes = encode(bundle);
  for (size_t section = 3; section < 1002; ++section)
    std::memcpy(&bytes[32 + 32 * section], &bytes[32 + 32], 24); // all are the image
  EXPECT_EQ(refusalOf(repaired(bytes)), "invalid bundle: section 3 overlaps the section before it");
  bytes = encode(goodBundle());
  uint64_t header = 0;
  std::memcpy(&bytes[32 + 8], &header, 8);
  EXPECT_EQ(refusalOf(repaired(bytes)), "invalid bundle: section 0 overlaps the section before it");
}

TEST(Bundle, FieldsThatAreNotKnownAreRefused) {
  std::vector<uint8_t> bytes = encode(goodBundle());
  bytes[20] = 1;
  EXPECT_EQ(refusalOf(repaired(bytes)), "invalid bundle: its header has a field that is not known");
  bytes[20] = 0;
  bytes[32 + 4] = 1;
  EXPECT_EQ(refusalOf(repaired(bytes)), "invalid bundle: section 0 has a field that is not known");
}

// Each count and length in turn claims far more than the file holds.
TEST(Bundle, CountsAndLengthsAskForNoMemory) {
  const std::vector<uint8_t> good = encode(goodBundle());
  for (size_t at = 16; at + 8 <= good.size(); ++at)
    for (uint64_t value : {0x7fffffffull, 0xffffffffull, 1ull << 40, ~0ull}) {
      std::vector<uint8_t> bytes = good;
      std::memcpy(&bytes[at], &value, value >> 32 ? 8 : 4);
      uint32_t sections;
      std::memcpy(&sections, &bytes[16], 4);
      if (sections <= 3)
        bytes = repaired(bytes);
      Bundle bundle;
      std::string error;
      if (!decode(bytes, bundle, error))
        continue;
      size_t held = bundle.manifest.size();
      for (const CodeImage &image : bundle.images)
        held += image.code.size() + image.kernels.size();
      for (const FunctionEntry &function : bundle.functions)
        held += function.program.size() + function.more.size();
      EXPECT_LE(held, bytes.size()) << at;
      Program program;
      for (const FunctionEntry &function : bundle.functions)
        decode(function.program, program, error);
    }
}

TEST(Bundle, MemoryThatIsNotThereIsAnError) {
  Bundle bundle = goodBundle();
  bundle.images[0].kernels[0].scratchBytes = uint64_t(1) << 60;
  tessera_rt_module *module = nullptr;
  ASSERT_EQ(tryLoad(bundle, &module), TESSERA_RT_OK);
  tessera_rt_value arg = {};
  arg.kind = TESSERA_RT_INT;
  tessera_rt_frame *frame = nullptr;
  ASSERT_EQ(tessera_rt_prepare(tessera_rt_function_at(module, 0), &arg, 1, &frame), TESSERA_RT_OK);
  int64_t result = 0;
  void *results[] = {&result};
  EXPECT_EQ(tessera_rt_execute(frame, results), TESSERA_RT_OUT_OF_MEMORY);
  tessera_rt_frame_release(frame);
  tessera_rt_module_release(module);
}

TEST(Bundle, AFileWithoutEndIsNotRead) {
  tessera_rt_module *module = nullptr;
  EXPECT_EQ(tessera_rt_load_file("/dev/zero", &module), TESSERA_RT_INVALID);
  EXPECT_STREQ(tessera_rt_last_error(), "/dev/zero: invalid bundle: it does not start with TSRB");
  // One that starts like a bundle and never ends.
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::thread writer([&] {
    signal(SIGPIPE, SIG_IGN);
    std::vector<uint8_t> bytes = encode(goodBundle());
    while (write(ends[1], bytes.data(), bytes.size()) > 0)
      ;
    close(ends[1]);
  });
  std::string path = "/dev/fd/" + std::to_string(ends[0]);
  EXPECT_EQ(tessera_rt_load_file(path.c_str(), &module), TESSERA_RT_INVALID);
  EXPECT_NE(std::string(tessera_rt_last_error()).find(" bytes, found "), std::string::npos);
  close(ends[0]);
  writer.join();
}

TEST(Bundle, EveryTruncationIsRefused) {
  std::vector<uint8_t> bytes = encode(goodBundle());
  for (size_t length = 0; length < bytes.size(); ++length) {
    tessera_rt_module *module = nullptr;
    EXPECT_EQ(tessera_rt_load(bytes.data(), length, &module), TESSERA_RT_INVALID) << length;
  }
}

TEST(Bundle, EveryChangedByteIsNoticed) {
  const std::vector<uint8_t> good = encode(goodBundle());
  Bundle decoded;
  std::string error;
  for (size_t at = 0; at < good.size(); ++at) {
    std::vector<uint8_t> bytes = good;
    bytes[at] ^= 0x10;
    // Padding between sections is ignored and may differ.
    if (decode(bytes, decoded, error)) {
      EXPECT_EQ(good[at], 0) << at;
      EXPECT_EQ(encode(decoded), good) << at;
    }
  }
}

TEST(Bundle, MutationsNeverCrash) {
  const std::vector<uint8_t> good = encode(wideBundle());
  std::mt19937 random(3);
  for (int round = 0; round < 50000; ++round) {
    std::vector<uint8_t> bytes = good;
    for (unsigned i = 0, n = 1 + random() % 6; i < n; ++i)
      bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
    if (random() % 4 == 0)
      bytes.resize(random() % (good.size() + 64));
    Bundle bundle;
    std::string error;
    decode(bytes, bundle, error);
  }
}

// The same with corrected checksums: only the inner parsers detect it.
TEST(Bundle, MutationsUnderAValidChecksumNeverCrash) {
  std::mt19937 random(4);
  std::vector<uint8_t> good = encode(wideBundle());
  for (int round = 0; round < 50000; ++round) {
    std::vector<uint8_t> bytes = good;
    uint32_t sections;
    std::memcpy(&sections, &bytes[16], 4);
    for (unsigned i = 0, n = 1 + random() % 4; i < n; ++i)
      bytes[32 + random() % (bytes.size() - 32)] =
          static_cast<uint8_t>(random() % 2 ? random() : random() % 8);
    for (uint32_t s = 0; s < sections; ++s) {
      uint8_t *entry = &bytes[32 + 32 * s];
      uint64_t offset, length;
      std::memcpy(&offset, entry + 8, 8);
      std::memcpy(&length, entry + 16, 8);
      if (offset > bytes.size() || length > bytes.size() - offset)
        continue;
      uint64_t sum = checksum({&bytes[offset], length});
      std::memcpy(entry + 24, &sum, 8);
    }
    std::memset(&bytes[24], 0, 8);
    uint64_t sum = checksum({bytes.data(), 32 + 32 * size_t(sections)});
    std::memcpy(&bytes[24], &sum, 8);
    tessera_rt_module *module = nullptr;
    if (tessera_rt_load(bytes.data(), bytes.size(), &module) == TESSERA_RT_OK)
      tessera_rt_module_release(module);
  }
}
