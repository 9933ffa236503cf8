//===- Access.cpp - The cost of memory accesses ---------------------------===//
#include "tessera/Layout/Access.h"

#include <algorithm>
#include <cassert>
#include <set>

using namespace tessera;

RegisterOrder tessera::registerOrder(const Layout &layout, gf2::VectorsRef first,
                                     uint64_t aligned) {
  gf2::VectorsRef held = layout.columns(Dim::Register);
  gf2::Vectors columns(first.begin(), first.end());
  gf2::Subspace elements;
  for (uint64_t number : first) {
    [[maybe_unused]] bool isNew = elements.add(gf2::sum(held, number));
    assert(isNew && "expected registers of different elements first");
  }
  for (uint64_t number : gf2::units(held.size())) {
    for (uint64_t front : first)
      if (gf2::sum(held, number) & gf2::sum(held, front) & aligned)
        number ^= front;
    if (elements.add(gf2::sum(held, number)))
      columns.push_back(number);
  }
  RegisterOrder result;
  result.vector = first.size();
  result.distinct = columns.size();
  columns = gf2::concat({columns, gf2::kernel(held)});
  Space registers = layout.in().only({Dim::Register});
  result.order = Layout(registers, registers, std::move(columns));
  return result;
}

RegisterOrder tessera::vectorise(const Layout &layout, Dim fastest, unsigned most) {
  gf2::Subspace held(layout.columns(Dim::Register));
  uint64_t ofThreads = 0, aligned = 0;
  for (uint64_t column : layout.columnsOf(~DimSet{Dim::Register}))
    ofThreads |= column;
  gf2::Vectors first;
  for (unsigned i = 0; i < std::min(most, layout.out().bits(fastest)); ++i) {
    uint64_t neighbour = uint64_t(1) << (layout.out().shift(fastest) + i);
    std::optional<uint64_t> number = held.express(neighbour);
    if (!number || (ofThreads & neighbour))
      break;
    first.push_back(*number);
    aligned |= neighbour;
  }
  return registerOrder(layout, first, aligned);
}

Layout tessera::pinned(const Layout &layout) {
  uint64_t free = layout.freeBits() & layout.in().mask({Dim::Lane, Dim::Warp});
  gf2::Vectors columns(layout.columns().begin(), layout.columns().end());
  for (size_t i = 0; i < columns.size(); ++i)
    if (free >> i & 1)
      columns[i] = 0;
  return Layout(layout.in(), layout.out(), std::move(columns));
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

static constexpr int64_t sectorBytes = 32;

GlobalTraffic tessera::globalTraffic(const Layout &layout, const RegisterOrder &order,
                                     unsigned bits, std::span<const int64_t> strides,
                                     int64_t base) {
  GlobalTraffic traffic;
  auto address = [&](uint64_t place) {
    Point element = layout.out().unpack(layout(place));
    int64_t bytes = base;
    for (unsigned dim = 0; dim < strides.size(); ++dim)
      bytes += int64_t(element[tensorDim(dim)]) * strides[dim];
    return bytes;
  };
  int64_t bytes = (int64_t(bits) << order.vector) / 8;
  assert(bytes > 0 && "expected accesses of whole bytes");
  const Space &places = layout.in();
  uint64_t warps = places.size() >> places.shift(Dim::Warp);
  for (uint64_t warp = 0; warp < warps; ++warp)
    for (uint64_t access = 0; access < uint64_t(1) << (order.distinct - order.vector); ++access) {
      uint64_t number = order.order(access << order.vector);
      std::set<int64_t> sectors, starts;
      for (uint64_t lane = 0; lane < places.size(Dim::Lane); ++lane) {
        int64_t start =
            address(number | lane << places.shift(Dim::Lane) | warp << places.shift(Dim::Warp));
        starts.insert(start);
        for (int64_t sector = start / sectorBytes; sector * sectorBytes < start + bytes; ++sector)
          sectors.insert(sector);
      }
      ++traffic.accesses;
      traffic.sectors += sectors.size();
      traffic.ideal += (int64_t(starts.size()) * bytes + sectorBytes - 1) / sectorBytes;
    }
  return traffic;
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

static constexpr unsigned bankBits = 5, wavefrontBits = 10,
                          laneBits = 5; // log2 of bits of data, of lanes

unsigned tessera::phaseBits(unsigned vector, unsigned bits) {
  unsigned access = std::countr_zero(bits) + vector;
  assert(access <= 7 && "expected accesses of at most 16 bytes");
  return std::min(laneBits, wavefrontBits - access);
}

unsigned tessera::phaseWavefronts(gf2::VectorsRef lanes, unsigned vector, unsigned bits) {
  // In bits of data: the bits of an element, the elements of an access, the lanes.
  unsigned element = std::countr_zero(bits), word = 5;
  gf2::Vectors words, banks;
  auto touch = [&](uint64_t address) {
    words.push_back(address >> word);
    banks.push_back(words.back() & ((1 << bankBits) - 1));
  };
  for (unsigned bit = 0; bit < element + vector; ++bit)
    touch(uint64_t(1) << bit);
  for (uint64_t lane : lanes)
    touch(lane << element);
  return 1u << (gf2::rank(words) - gf2::rank(banks));
}

unsigned tessera::wavefronts(const Layout &address, unsigned vector, unsigned bits, uint64_t idle) {
  Layout ofLanes = address.sublayout({Dim::Lane}, {Dim::Offset});
  unsigned phase = std::min<unsigned>(phaseBits(vector, bits), ofLanes.in().bits());
  gf2::Vectors lanes;
  unsigned phases = 1;
  for (unsigned bit = 0; bit < ofLanes.in().bits(); ++bit) {
    if (idle >> bit & 1)
      continue;
    if (bit < phase)
      lanes.push_back(ofLanes.columns()[bit]);
    else
      phases *= 2;
  }
  return phases * phaseWavefronts(lanes, vector, bits);
}
