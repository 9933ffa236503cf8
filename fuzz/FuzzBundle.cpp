//===- FuzzBundle.cpp - Bundles, host programs and entries of caches ------===//
//
// Bytes that begin as a bundle are read as one, once as they are and once with the length and the
// checksums put right, behind which mutations would never get, and so are those that begin as an
// entry of a cache; other bytes are read as a host program. What a bundle or a program holds was in
// its bytes. A program that is accepted is written and read again, listed, laid out as a plan, and
// its expressions are computed with small and with large sizes.
//
//===----------------------------------------------------------------------===//
#include "CacheFiles.h"
#include "Fuzz.h"
#include "Plan.h"
#include "tessera_rt/bundle.h"

#include <cstring>
#include <limits>

using namespace tessera;

/// How many elements there are in all; each took at least one byte.
static size_t sizeOf(const rt::Program &program) {
  size_t total = program.arguments.size() + program.kernels.size();
  auto add = [&](const rt::Expr &expr) { total += 1 + expr.code.size(); };
  auto addAll = [&](const std::vector<rt::Expr> &list) {
    for (const rt::Expr &expr : list)
      add(expr);
  };
  for (const rt::Slot &slot : program.slots)
    add(slot.expr);
  for (const rt::Guard &guard : program.guards) {
    add(guard.condition);
    addAll(guard.operands);
    total += guard.message.size();
  }
  for (const rt::Result &result : program.results)
    addAll(result.sizes);
  for (const rt::Temporary &temporary : program.temporaries)
    add(temporary.bytes);
  for (const rt::Step &step : program.steps) {
    addAll(step.grid);
    for (const rt::Word &word : step.words)
      add(word.expr);
    add(step.work);
    total += step.checks.size() + step.maps.size();
  }
  return total;
}

static void checkProgram(std::span<const uint8_t> bytes) {
  rt::Program program, again;
  std::string error;
  if (!rt::decode(bytes, program, error)) {
    fuzz::expect(!error.empty(), "a program or an error");
    return fuzz::saw(error);
  }
  fuzz::expect(sizeOf(program) <= bytes.size(), "a program that is in its bytes");
  std::string listing = rt::toString(program);
  fuzz::expect(rt::decode(rt::encode(program), again, error), "a program from its own bytes",
               error);
  fuzz::expect(rt::toString(again) == listing, "the same program from its own bytes", listing);
  rt::Plan plan(program);
  for (int64_t size : {int64_t(0), int64_t(7), std::numeric_limits<int64_t>::max()}) {
    std::vector<int64_t> slots(plan.slots.size(), size);
    bool overflow = false;
    for (const rt::PlanSlot &slot : plan.slots)
      if (slot.source == rt::Slot::Derived)
        plan.evaluate(slot.expr, slots.data(), overflow);
    for (const rt::PlanGuard &guard : plan.guards)
      plan.holds(guard, slots.data(), overflow);
    for (const rt::PlanExpr &expr : plan.resultSizes)
      plan.evaluate(expr, slots.data(), overflow);
    for (const rt::PlanWord &word : plan.words)
      plan.evaluate(word.expr, slots.data(), overflow);
    fuzz::saw(overflow ? "overflow" : "no overflow");
  }
}

static void checkBundle(std::span<const uint8_t> bytes) {
  rt::Bundle bundle, again;
  std::string error;
  if (!rt::decode(bytes, bundle, error)) {
    fuzz::expect(!error.empty(), "a bundle or an error");
    return fuzz::saw(error);
  }
  size_t held = bundle.manifest.size();
  for (const rt::CodeImage &image : bundle.images)
    held += image.target.size() + image.code.size() + image.kernels.size();
  for (const rt::FunctionEntry &function : bundle.functions)
    held += function.name.size() + function.program.size() + function.more.size();
  fuzz::expect(held <= bytes.size(), "a bundle that is in its bytes");
  std::vector<uint8_t> written = rt::encode(bundle);
  fuzz::expect(rt::decode(written, again, error), "a bundle from its own bytes", error);
  fuzz::expect(rt::encode(again) == written, "the same bundle from its own bytes");
  for (const rt::CodeImage &image : bundle.images) {
    std::string why;
    fuzz::saw(rt::hostSupports(image.target, why) ? "an image for this machine" : why);
  }
  for (const rt::FunctionEntry &function : bundle.functions)
    checkProgram(function.program);
}

/// With the length, the checksums of sections and of the header as bundle.h says.
static std::vector<uint8_t> repaired(std::span<const uint8_t> bytes) {
  constexpr size_t header = 32, entry = 32;
  std::vector<uint8_t> result(bytes.begin(), bytes.end());
  auto word = [&](size_t at) {
    uint64_t value = 0;
    std::memcpy(&value, result.data() + at, 8);
    return value;
  };
  auto set = [&](size_t at, uint64_t value) { std::memcpy(result.data() + at, &value, 8); };
  if (result.size() < header)
    return result;
  set(8, result.size());
  size_t sections = std::min<size_t>(word(16) & 0xffffffff, (result.size() - header) / entry);
  for (size_t at = header; at < header + sections * entry; at += entry) {
    uint64_t offset = word(at + 8), length = word(at + 16);
    if (offset <= result.size() && length <= result.size() - offset)
      set(at + 24, rt::checksum(std::span(result).subspan(offset, length)));
  }
  set(24, 0);
  set(24, rt::checksum(std::span(result).first(header + sections * entry)));
  return result;
}

static void checkEntry(std::span<const uint8_t> bytes) {
  rt::cache::Entry entry;
  rt::cache::Verdict verdict = rt::cache::decode(bytes, entry);
  if (verdict.kind != rt::cache::Verdict::Good)
    return fuzz::saw(verdict.reason);
  fuzz::expect(rt::cache::encode(entry) == std::vector(bytes.begin(), bytes.end()),
               "the same entry from its own parts");
  fuzz::saw("an entry");
}

/// With the checksum as CacheFiles.h says.
static std::vector<uint8_t> repairedEntry(std::span<const uint8_t> bytes) {
  std::vector<uint8_t> result(bytes.begin(), bytes.end());
  if (result.size() < 16)
    return result;
  uint64_t sum = rt::checksum(std::span(result).subspan(16));
  std::memcpy(result.data() + 8, &sum, 8);
  return result;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::Stopwatch stopwatch;
  std::span<const uint8_t> bytes(data, size);
  if (size >= 4 && std::memcmp(data, "TSRC", 4) == 0) {
    checkEntry(bytes);
    checkEntry(repairedEntry(bytes));
    return 0;
  }
  if (size < 4 || std::memcmp(data, "TSRB", 4) != 0) {
    checkProgram(bytes);
    return 0;
  }
  checkBundle(bytes);
  checkBundle(repaired(bytes));
  return 0;
}
