//===- FuzzBundle.cpp - Bundles and host programs -------------------------===//
//
// Bytes that begin as a bundle are read as one, once as they are and once with the length and the
// checksums put right, behind which mutations would never get; other bytes are read as a host program.
// A program that is accepted is written and read again, listed, laid out as a plan, and its expressions
// are computed with small and with large sizes.
//
//===----------------------------------------------------------------------===//
#include "Fuzz.h"
#include "Plan.h"
#include "tessera_rt/bundle.h"

#include <cstring>
#include <limits>

using namespace tessera;

static void checkProgram(std::span<const uint8_t> bytes) {
  rt::Program program, again;
  std::string error;
  if (!rt::decode(bytes, program, error)) {
    fuzz::expect(!error.empty(), "a program or an error");
    return fuzz::saw(error);
  }
  std::string listing = rt::toString(program);
  fuzz::expect(rt::decode(rt::encode(program), again, error), "a program from its own bytes", error);
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

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::Stopwatch stopwatch;
  std::span<const uint8_t> bytes(data, size);
  if (size < 4 || std::memcmp(data, "TSRB", 4) != 0) {
    checkProgram(bytes);
    return 0;
  }
  checkBundle(bytes);
  checkBundle(repaired(bytes));
  return 0;
}
