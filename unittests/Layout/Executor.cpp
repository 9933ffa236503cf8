//===- Executor.cpp - Executes conversion plans ---------------------------===//
#include "Executor.h"

#include <algorithm>
#include <set>

using namespace tessera;

static constexpr int64_t nothing = -1;

Executor::Executor(const Layout &given, const Layout &wanted, unsigned bits)
    : from(given.broadcastTo(wanted.in().only(threadDims))),
      to(wanted.broadcastTo(given.in().only(threadDims))), bits(bits),
      source(from.in().size(), nothing), result(to.in().size(), nothing) {
  for (uint64_t place = 0; place < source.size(); ++place)
    source[place] = from(place);
}

std::string Executor::compare() const {
  for (uint64_t place = 0; place < result.size(); ++place)
    if (result[place] != int64_t(to(place)))
      return "place " + std::to_string(place) + " has " + std::to_string(result[place]) + ", not " +
             std::to_string(to(place));
  return "";
}

std::string Executor::run(const ConversionPlan &plan) {
  switch (plan.kind) {
  case ConversionPlan::Kind::None:
    result = source;
    return compare();
  case ConversionPlan::Kind::Registers:
    for (uint64_t place = 0; place < result.size(); ++place) {
      Point at = to.in().unpack(place);
      at[Dim::Register] = plan.registers(place);
      result[place] = source[from.in().pack(at)];
    }
    return compare();
  case ConversionPlan::Kind::Shuffles:
    return runShuffles(plan.shuffles);
  case ConversionPlan::Kind::Shared:
    return runExchange(plan.exchange);
  }
  return "unknown kind";
}

std::string Executor::runShuffles(const ShuffleSchedule &schedule) {
  unsigned packed = schedule.source.vector;
  if (schedule.result.vector != packed || (bits << packed) > std::max(32u, bits))
    return "words of different sizes, or too large";
  uint64_t words = uint64_t(1) << (schedule.result.distinct - packed);
  const Space &places = schedule.send.in();
  uint64_t threads = places.size() >> places.bits(Dim::Round);
  for (unsigned round = 0; round < schedule.rounds(); ++round)
    for (uint64_t thread = 0; thread < threads; ++thread) {
      Point at = places.unpack(thread);
      at[Dim::Round] = round;
      uint64_t word = schedule.keep(at)[Dim::Register];
      Point other = at;
      other[Dim::Lane] = schedule.lane(at)[Dim::Lane];
      if (schedule.isLocal(round) && !(other == at))
        return "a local round that moves";
      if (word >= words)
        continue;
      uint64_t offered = schedule.send(other)[Dim::Register]; // the word that the source lane sends
      other[Dim::Round] = at[Dim::Round] = 0;
      for (uint64_t element = 0; element < uint64_t(1) << packed; ++element) {
        other[Dim::Register] = schedule.source.order(offered << packed | element);
        for (uint64_t copy = 0; copy < to.in().size(Dim::Register) >> schedule.result.distinct;
             ++copy) {
          at[Dim::Register] =
              schedule.result.order(copy << schedule.result.distinct | word << packed | element);
          result[to.in().pack(at)] = source[from.in().pack(other)];
        }
      }
    }
  return compare();
}

namespace {
/// Indices of the elements of one pass. Warps are numbered across all CTAs.
struct Numbers {
  const SharedAccess &access;
  uint64_t pass;

  Numbers(const SharedAccess &access, unsigned pass)
      : access(access), pass(uint64_t(pass) << access.registers.order.in().bits(Dim::Register)) {}
  uint64_t registerOf(uint64_t number) const { return access.registers.order(number | pass); }
  Point address(uint64_t number, uint64_t lane, uint64_t warp) const {
    const Space &in = access.address.in();
    return access.address.out().unpack(
        access.address(number | lane << in.shift(Dim::Lane) | warp << in.shift(Dim::Warp)));
  }
};
} // namespace

std::string Executor::transfer(Registers &registers, uint64_t place, Point address, bool isLoad) {
  uint64_t cell = address[Dim::Block] * from.out().size() + address[Dim::Offset];
  if (cell >= memory.size())
    memory.resize(cell + 1, nothing);
  if (isLoad) {
    if (memory[cell] == nothing)
      return "a load of what was not stored";
    registers[place] = memory[cell];
  } else {
    if (memory[cell] != nothing)
      return "two stores to one address";
    memory[cell] = registers[place];
  }
  return "";
}

unsigned Executor::count(const std::vector<Access> &accesses, unsigned elements,
                         unsigned lanesInPhase) const {
  unsigned wavefronts = 0;
  for (size_t i = 0; i < accesses.size();) {
    std::set<uint64_t> words;
    unsigned phase = accesses[i].lane / lanesInPhase;
    for (; i < accesses.size() && accesses[i].lane / lanesInPhase == phase; ++i) {
      uint64_t first = accesses[i].offset * bits / 8, last = first + elements * bits / 8 - 1;
      for (uint64_t word = first / 4; word <= last / 4; ++word)
        words.insert(word);
    }
    std::array<unsigned, 32> banks{};
    for (uint64_t word : words)
      ++banks[word % 32];
    wavefronts += *std::max_element(banks.begin(), banks.end());
  }
  return wavefronts;
}

std::string Executor::plainAccess(const SharedAccess &access, const Layout &layout, bool isLoad,
                                  unsigned warp, unsigned pass) {
  const Space &places = layout.in();
  Numbers numbers(access, pass);
  unsigned elements = 1u << access.registers.vector, bytes = elements * bits / 8;
  if (bytes > 16)
    return "an access of more than 16 bytes";
  uint64_t shift = places.shift(Dim::Lane), lanes = places.size(Dim::Lane);
  for (uint64_t n = 0; n < uint64_t(1) << access.registers.distinct; n += elements) {
    std::vector<Access> asked;
    for (uint64_t lane = 0; lane < lanes; ++lane) {
      uint64_t thread = lane << shift | uint64_t(warp) << places.shift(Dim::Warp);
      if (!isLoad && (thread & access.idle))
        continue;
      Point address = numbers.address(n, lane, warp);
      if (address[Dim::Offset] % elements)
        return "an address that is not aligned";
      asked.push_back({unsigned(lane), int64_t(address[Dim::Offset])});
      for (unsigned j = 0; j < elements; ++j, ++address[Dim::Offset]) {
        std::string wrong =
            transfer(isLoad ? result : source, thread | numbers.registerOf(n | j), address, isLoad);
        if (!wrong.empty())
          return wrong;
      }
    }
    if (warp == 0)
      (isLoad ? loadWavefronts : storeWavefronts) +=
          count(asked, elements, std::min(32u, 128 / bytes));
  }
  return "";
}

std::string Executor::matrixAccess(const SharedAccess &access, const Layout &layout, bool isLoad,
                                   unsigned warp, unsigned pass) {
  const Space &places = layout.in();
  Numbers numbers(access, pass);
  bool transposed = access.kind == SharedAccess::Kind::Transposed;
  unsigned perRegister = 32 / bits, perRow = 128 / bits;
  uint64_t ofWarp = uint64_t(warp) << places.shift(Dim::Warp), shift = places.shift(Dim::Lane);
  if (!isLoad && (ofWarp & access.idle))
    return "";
  if (places.size(Dim::Lane) != 32 ||
      (1u << access.registers.vector) != (transposed ? 2 : perRegister))
    return "a matrix for other than 32 lanes and 32-bit registers";
  uint64_t step = uint64_t(perRegister) << access.matrices;
  for (uint64_t n = 0; n < uint64_t(1) << access.registers.distinct; n += step)
    for (unsigned m = 0; m < 1u << access.matrices; ++m) {
      Point rows[8];
      std::vector<Access> asked;
      for (unsigned row = 0; row < 8; ++row) {
        uint64_t lane = m * 8 + row;
        rows[row] = numbers.address(n, lane, warp);
        if (rows[row][Dim::Offset] % perRow)
          return "a row that is not aligned";
        asked.push_back({row, int64_t(rows[row][Dim::Offset])});
      }
      if (warp == 0)
        (isLoad ? loadWavefronts : storeWavefronts) += count(asked, perRow, 8);
      for (uint64_t lane = 0; lane < 32; ++lane)
        for (unsigned j = 0; j < perRegister; ++j) {
          unsigned row = transposed ? lane % 4 * 2 + j : lane / 4;
          unsigned column = transposed ? lane / 4 : lane % 4 * perRegister + j;
          Point address = rows[row];
          address[Dim::Offset] += column;
          uint64_t place = numbers.registerOf(n + m * perRegister + j) | lane << shift | ofWarp;
          std::string wrong = transfer(isLoad ? result : source, place, address, isLoad);
          if (!wrong.empty())
            return wrong;
        }
    }
  return "";
}

void Executor::copyDuplicates(const SharedAccess &access, const Layout &layout, unsigned pass) {
  Numbers numbers(access, pass);
  uint64_t distinct = uint64_t(1) << access.registers.distinct;
  uint64_t all = access.registers.order.in().size(Dim::Register);
  for (uint64_t thread = 0; thread < result.size(); thread += layout.in().size(Dim::Register))
    for (uint64_t n = distinct; n < all; ++n)
      result[thread | numbers.registerOf(n)] = result[thread | numbers.registerOf(n % distinct)];
}

std::string Executor::runExchange(const SharedExchange &exchange) {
  for (unsigned pass = 0; pass < exchange.passes(); ++pass) {
    memory.clear();
    for (bool isLoad : {false, true}) {
      const SharedAccess &access = isLoad ? exchange.load : exchange.store;
      const Layout &layout = isLoad ? to : from;
      uint64_t warps = layout.in().size() >> layout.in().shift(Dim::Warp);
      for (unsigned warp = 0; warp < warps; ++warp) {
        std::string wrong = access.kind == SharedAccess::Kind::Plain
                                ? plainAccess(access, layout, isLoad, warp, pass)
                                : matrixAccess(access, layout, isLoad, warp, pass);
        if (!wrong.empty())
          return wrong;
      }
    }
    copyDuplicates(exchange.load, to, pass);
  }
  return compare();
}
