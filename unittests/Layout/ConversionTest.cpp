//===- ConversionTest.cpp - Conversion plans, executed --------------------===//
#include "Executor.h"
#include "RandomLayouts.h"
#include "tessera/Layout/Families.h"

#include <gtest/gtest.h>
#include <map>

using namespace tessera;
using Kind = ConversionPlan::Kind;
using Scope = ConversionPlan::Scope;
using Access = SharedAccess::Kind;

namespace {

constexpr SharedFeatures sm70{}, sm80{.ldmatrix = true}, sm90{.ldmatrix = true, .stmatrix = true};

Layout parsed(const char *text) { return Layout::parse(text).value(); }

/// Plans a conversion, executes it, and compares the predicted wavefronts with those of the run.
ConversionPlan proven(const Layout &from, const Layout &to, unsigned bits,
                      SharedFeatures features) {
  std::optional<ConversionPlan> plan = planConversion(from, to, bits, features);
  EXPECT_TRUE(plan) << from.str() << "\n" << to.str();
  if (!plan)
    return {};
  Executor executor(from, to, bits);
  EXPECT_EQ(executor.run(*plan), "") << from.str() << "\n" << to.str();
  if (plan->kind == Kind::Shared) {
    EXPECT_EQ(plan->exchange.store.wavefronts, executor.storeWavefronts) << from.str() << "\n"
                                                                         << to.str();
    EXPECT_EQ(plan->exchange.load.wavefronts, executor.loadWavefronts) << from.str() << "\n"
                                                                       << to.str();
  }
  return *plan;
}

TEST(Conversion, MemoryOfBlocks) {
  // Each CTA stores its half of a row, and a thread loads what it has stored.
  Layout row = blocked(std::array{256u}, {{2}, {32}, {2}, {0}, {2}});
  std::optional<SharedExchange> exchange = planExchange(row, row, 16, {});
  ASSERT_TRUE(exchange);
  Layout memory = inAllBlocks(exchange->memory, row), offsets = offsetsOf(memory);
  EXPECT_EQ(memory.in().size(Dim::Offset), 128u);
  EXPECT_EQ(memory.in().size(Dim::Block), 2u);
  EXPECT_TRUE(memory.inverse());
  for (uint64_t block = 0; block < 2; ++block)
    for (uint64_t offset = 0; offset < 128; ++offset) {
      Point element = memory(Point{{Dim::Block, block}, {Dim::Offset, offset}});
      EXPECT_EQ(offsets(element)[Dim::Offset], offset);
    }
  EXPECT_TRUE(holder(memory, row, {Dim::Block}));
  // A tile that is replicated over CTAs is stored whole in each.
  Layout same = blocked(std::array{256u}, {{4}, {32}, {2}, {0}}).broadcastTo({{Dim::Block, 2}});
  exchange = planExchange(same, same, 16, {});
  ASSERT_TRUE(exchange);
  EXPECT_EQ(inAllBlocks(exchange->memory, same), exchange->memory);
  EXPECT_EQ(exchange->memory.in().size(Dim::Offset), 256u);
}

TEST(Conversion, PartsOfBlocks) {
  Layout part = boxedShared(std::array{64u, 64u}, 1, 16, 128);
  std::optional<BlockPart> found = partOfBlock(part * Layout::strided(Dim::Block, Dim::D1, 4));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->layout, part);
  EXPECT_EQ(found->dim, 1u);
  EXPECT_EQ(found->blocks, 4u);
  // Replicated over CTAs, and with a single CTA.
  EXPECT_EQ(partOfBlock(part.broadcastTo(Space({{Dim::Block, 2}})))->blocks, 1u);
  EXPECT_EQ(partOfBlock(part)->layout, part);
  // Interleaved slices are not supported.
  EXPECT_FALSE(partOfBlock(Layout::strided(Dim::Block, Dim::D0, 2) *
                           Layout::strided(Dim::Offset, Dim::D0, 8)));
}

TEST(Conversion, OwnRegisters) {
  // Half of a thread's columns belong to its own CTA: registers of the same thread, or none.
  Layout sums = wgmmaAccumulator(64, 1), parts = sums * Layout::strided(Dim::Block, Dim::D2, 2);
  Layout columns = wgmmaAccumulator(32, 1) * Layout::strided(Dim::Block, Dim::D1, 2);
  std::optional<OwnRegisters> own = ownRegisters(parts, columns);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->registers, (std::vector<unsigned>{0, 1, 2, 3}));
  EXPECT_EQ(own->blocks, (std::vector<unsigned>{4}));
  for (unsigned reg = 0; reg < 16; ++reg)
    for (unsigned block = 0; block < 2; ++block)
      EXPECT_EQ(columns(Point({{Dim::Register, reg}, {Dim::Block, block}})),
                sums(Point({{Dim::Register, reg | block << 4}})));
  // A coalesced layout has the rows in other threads.
  Layout rows = blocked(std::array{64u, 64u}, {{1, 4}, {4, 8}, {4, 1}, {1, 0}, {1, 2}});
  EXPECT_FALSE(ownRegisters(parts, rows));
  EXPECT_FALSE(ownRegisters(sums, wgmmaAccumulator(64, 1)));
}

TEST(Conversion, Nothing) {
  Layout layout = mmaAccumulator(16, 64);
  EXPECT_EQ(proven(layout, layout, 32, sm90).kind, Kind::None);
  // An accumulator fragment is the A operand of the next MMA.
  EXPECT_EQ(proven(wgmmaAccumulator(64), wgmmaOperandA(64, 16), 16, sm90).kind, Kind::None);
}

TEST(Conversion, Registers) {
  ConversionPlan plan =
      proven(parsed("register[d0:1, d0:2] lane[d1:1, d1:2] -> d0:4 d1:4"),
             parsed("register[d0:2, d0:1] lane[d1:1, d1:2] -> d0:4 d1:4"), 32, sm90);
  EXPECT_EQ(plan.kind, Kind::Registers);
  EXPECT_EQ(plan.registers.str(), "register[register:2, register:1] lane[0, 0] -> register:4");
  // A thread that holds all elements selects its own by lane.
  plan = proven(parsed("register[d0:1, d0:2] lane[0, 0] -> d0:4"),
                parsed("lane[d0:1, d0:2] -> d0:4"), 32, sm90);
  EXPECT_EQ(plan.kind, Kind::Registers);
  EXPECT_EQ(plan.registers.str(), "lane[register:1, register:2] -> register:4");
}

TEST(Conversion, Shuffles) {
  // A transpose of four registers and four lanes: three shuffles and one move.
  Layout rows = parsed("register[d1:1, d1:2] lane[d0:1, d0:2, d0:4, d0:8, d0:16] -> d0:32 d1:4");
  Layout turned = parsed("register[d0:1, d0:2] lane[d1:1, d1:2, d0:4, d0:8, d0:16] -> d0:32 d1:4");
  ConversionPlan plan = proven(rows, turned, 32, sm90);
  ASSERT_EQ(plan.kind, Kind::Shuffles);
  EXPECT_EQ(plan.scope, Scope::Warp);
  EXPECT_EQ(plan.shuffles.rounds(), 4u);
  EXPECT_TRUE(plan.shuffles.isLocal(0));
  EXPECT_FALSE(plan.shuffles.isLocal(1));
  // Adjacent 16-bit elements are shuffled in pairs.
  plan = proven(parsed("register[d1:1, d1:2] lane[d0:1, d0:2, d0:4, d0:8, d0:16] -> d0:32 d1:4"),
                parsed("register[d1:1, d0:1] lane[d1:2, d0:2, d0:4, d0:8, d0:16] -> d0:32 d1:4"),
                16, sm90);
  ASSERT_EQ(plan.kind, Kind::Shuffles);
  EXPECT_EQ(plan.shuffles.rounds(), 2u);
  EXPECT_EQ(plan.shuffles.source.vector, 1u);
}

TEST(Conversion, ShufflesOfMoreThanIsWanted) {
  // Every warp holds all elements and needs a half: a lane has words for several others, so there
  // are more rounds than words, and some received words are dropped.
  Layout all = parsed("register[d0:32] lane[d0:1, d0:2, d0:4, d0:8, d0:16] warp[0] -> d0:64");
  Layout half = parsed("lane[d0:2, d0:4, d0:8, d0:16, d0:32] warp[d0:1] -> d0:64");
  std::optional<ShuffleSchedule> schedule = planShuffles(all, half, 32);
  ASSERT_TRUE(schedule);
  EXPECT_EQ(schedule->rounds(), 2u);
  EXPECT_EQ(Executor(all, half, 32).runShuffles(*schedule), "");
}

TEST(Conversion, SharedMemory) {
  // From a blocked layout to MMA operands: wide stores, ldmatrix, no bank conflicts.
  Layout rows = blocked(std::array{64u, 64u}, {{1, 8}, {4, 8}, {4, 1}, {1, 0}});
  Layout operandA = (mmaOperandA(16, 64, 16) * Layout::strided(Dim::Warp, Dim::D0, 4));
  ConversionPlan plan = proven(rows, operandA, 16, sm80);
  ASSERT_EQ(plan.kind, Kind::Shared);
  EXPECT_EQ(plan.exchange.store.registers.vector, 3u);
  EXPECT_EQ(plan.exchange.store.wavefronts, 64u * 64 * 2 / 128 / 4);
  EXPECT_EQ(plan.exchange.load.kind, Access::Matrix);
  EXPECT_EQ(plan.exchange.load.matrices, 2u);
  EXPECT_EQ(plan.exchange.load.wavefronts, 64u * 64 * 2 / 128 / 4);
  // B from rows along n: ldmatrix.trans.
  Layout operandB = mmaOperandB(64, 64, 16) * Layout::broadcast(Dim::Warp, 4);
  plan = proven(rows, operandB, 16, sm80);
  EXPECT_EQ(plan.exchange.store.registers.vector, 3u);
  EXPECT_EQ(plan.exchange.load.kind, Access::Transposed);
  EXPECT_EQ(plan.exchange.load.wavefronts, 64u * 64 * 2 / 128);
  // From an accumulator to a layout for wide global stores: stmatrix.
  plan = proven(wgmmaAccumulator(64), rows, 16, {.stmatrix = true});
  EXPECT_EQ(plan.exchange.store.kind, Access::Matrix);
  EXPECT_EQ(plan.exchange.load.registers.vector, 3u);
  EXPECT_EQ(plan.exchange.store.wavefronts + plan.exchange.load.wavefronts, 32u);
  plan = proven(wgmmaAccumulator(64), rows, 16, sm70);
  EXPECT_EQ(plan.exchange.store.kind, Access::Plain);
  // A transpose of fp32: wide on one side, conflict-free on both.
  Layout columns = blocked(std::array{64u, 64u}, {{4, 1}, {16, 2}, {1, 4}, {0, 1}});
  Layout rows32 = blocked(std::array{64u, 64u}, {{1, 4}, {2, 16}, {4, 1}, {1, 0}});
  plan = proven(rows32, columns, 32, sm70);
  EXPECT_EQ(plan.exchange.store.wavefronts, 64u * 64 * 4 / 128 / 4);
  EXPECT_EQ(plan.exchange.load.wavefronts, 64u * 64 * 4 / 128 / 4);
}

TEST(Conversion, SmallMemory) {
  // An accumulator of 64 KiB through 16 KiB: four passes cost hardly more than one.
  Layout accumulator = wgmmaAccumulator(128, 2);
  Layout rows = blocked(std::array{128u, 128u}, {{1, 4}, {1, 32}, {8, 1}, {1, 0}});
  SharedExchange whole = proven(accumulator, rows, 32, sm90).exchange;
  SharedFeatures small = sm90;
  small.memoryBytes = 16384;
  SharedExchange parts = proven(accumulator, rows, 32, small).exchange;
  EXPECT_EQ(whole.passes(), 1u);
  EXPECT_EQ(parts.passes(), 4u);
  EXPECT_EQ(parts.memory.in().size(), 4096u);
  EXPECT_LT(parts.cost(), whole.cost() * 5 / 4);
}

TEST(Conversion, Cluster) {
  Layout halves = blocked(std::array{32u, 32u}, {{1, 4}, {4, 8}, {2, 1}, {1, 0}, {2, 1}});
  Layout sides = blocked(std::array{32u, 32u}, {{1, 4}, {8, 4}, {2, 1}, {1, 0}, {1, 2}});
  EXPECT_EQ(proven(halves, sides, 32, sm90).scope, Scope::Cluster);
  EXPECT_EQ(proven(halves, halves.broadcastTo({{Dim::Warp, 8}}), 32, sm90).scope, Scope::Thread);
}

TEST(Conversion, ImpossibleWithoutAllElements) {
  EXPECT_FALSE(
      planConversion(parsed("lane[d0:1] -> d0:4"), parsed("lane[d0:1, d0:2] -> d0:4"), 32, sm90));
}

TEST(Conversion, AllPairsOfFamilies) {
  // Tiles of 64 × 64 over four warps.
  auto warps = [](const Layout &tile, unsigned down) {
    return tile * Layout::strided(Dim::Warp, Dim::D0, down) *
           Layout::strided(Dim::Warp, Dim::D1, 4 / down);
  };
  auto ofShape = [](const Layout &layout) {
    return layout.fit(Space::tensor({64, 64}), std::array{1u, 0u});
  };
  std::vector<Layout> layouts = {wgmmaAccumulator(64), voltaAccumulator(64, 64),
                                 ofShape(warps(voltaOperandA(16, 4), 4))};
  for (unsigned down : {1u, 2u, 4u}) {
    layouts.push_back(ofShape(warps(mmaAccumulator(16, 8), down)));
    for (unsigned bits : {8u, 16u, 32u}) {
      layouts.push_back(ofShape(warps(mmaOperandA(16, 256 / bits, bits), down)));
      layouts.push_back(ofShape(warps(mmaOperandB(256 / bits, 8, bits), down)));
    }
  }
  for (unsigned per : {1u, 4u, 8u}) {
    layouts.push_back(blocked(std::array{64u, 64u}, {{1, per}, {4, 8}, {4, 1}, {1, 0}}));
    layouts.push_back(blocked(std::array{64u, 64u}, {{per, 1}, {8, 4}, {1, 4}, {0, 1}}));
  }
  std::map<Access, unsigned> kinds;
  unsigned conflicts = 0, exchanges = 0;
  constexpr unsigned others[] = {8, 32, 64};
  for (const Layout &from : layouts)
    for (const Layout &to : layouts)
      for (unsigned bits : {16u, others[exchanges % 3]}) {
        ConversionPlan plan = proven(from, to, bits, sm90);
        if (plan.kind != Kind::Shared)
          continue;
        ++exchanges;
        for (const SharedAccess *access : {&plan.exchange.store, &plan.exchange.load}) {
          ++kinds[access->kind];
          conflicts += access->hasConflicts(bits);
        }
      }
  EXPECT_EQ(conflicts, 0u) << "of " << exchanges;
  for (Access kind : {Access::Plain, Access::Matrix, Access::Transposed})
    EXPECT_GT(kinds[kind], 50u) << int(kind);
}

/// Random pairs of layouts of one tile. The second keeps some columns of the first, so that every
/// scope occurs.
struct Pair {
  Layout from, to;
};

Pair anyPair(RandomLayouts &random, unsigned lanes = 5) {
  unsigned warps = random.upTo(2), blocks = random.upTo(3) ? 0 : 1, registers = random.upTo(4);
  unsigned lost = random.upTo(2) ? 0 : random.upTo(3); // locations beyond the tile
  unsigned bits = registers + lanes + warps + blocks;
  Space tile = random.tile(bits - std::min(lost, bits));
  unsigned mixing = random.upTo(2) * 6;
  Layout from = random.covering(random.places(registers, lanes, warps, blocks), tile, mixing);
  Space in = random.places(registers + random.upTo(1), lanes, warps, blocks);
  Layout to = random.covering(in, tile, mixing);
  if (random.upTo(3)) { // swap a few columns of the first layout
    gf2::Vectors columns(from.columns().begin(), from.columns().end());
    unsigned first = random.upTo(2) ? 0 : registers + lanes,
             last = random.upTo(1) ? registers + lanes : bits;
    for (unsigned swaps = random.upTo(3); swaps && first < last; --swaps) {
      unsigned a = first + random.upTo(last - first - 1), b = first + random.upTo(last - first - 1);
      if (random.upTo(1))
        std::swap(columns[a], columns[b]);
      else if (a != b)
        columns[a] ^= columns[b];
    }
    to = Layout(from.in(), tile, std::move(columns));
  }
  return {from, to};
}

TEST(Conversion, RandomPlans) {
  RandomLayouts random(11);
  std::map<std::pair<Kind, Scope>, unsigned> seen;
  std::map<Access, unsigned> kinds;
  unsigned split = 0;
  for (unsigned trial = 0; trial < 3000 && !testing::Test::HasFailure(); ++trial) {
    Pair pair = anyPair(random);
    unsigned bits = 8u << random.upTo(3);
    SharedFeatures features = random.upTo(1) ? sm90 : random.upTo(1) ? sm80 : sm70;
    ConversionPlan plan = proven(pair.from, pair.to, bits, features);
    // The same with half the memory or less, if the tile can be split into passes.
    if (plan.kind == Kind::Shared) {
      features.memoryBytes = plan.exchange.memory.in().size() * bits / 8 >> (1 + random.upTo(1));
      if (auto parts = planExchange(pair.from, pair.to, bits, features)) {
        ++split;
        ASSERT_LE(parts->memory.in().size() * bits / 8, features.memoryBytes);
        Executor executor(pair.from, pair.to, bits);
        ASSERT_EQ(executor.runExchange(*parts), "") << pair.from.str() << "\n" << pair.to.str();
        ASSERT_EQ(parts->store.wavefronts, executor.storeWavefronts);
        ASSERT_EQ(parts->load.wavefronts, executor.loadWavefronts);
      }
    }
    ++seen[{plan.kind, plan.scope}];
    if (plan.kind == Kind::Shared) {
      ++kinds[plan.exchange.store.kind];
      ++kinds[plan.exchange.load.kind];
    }
  }
  for (Scope scope : {Scope::Warp, Scope::Block, Scope::Cluster})
    EXPECT_GT((seen[{Kind::Shared, scope}]), 50u);
  EXPECT_GT((seen[{Kind::Registers, Scope::Thread}]), 50u);
  EXPECT_GT(split, 50u);
  EXPECT_GT((seen[{Kind::Shuffles, Scope::Warp}]), 50u);
  for (Access kind : {Access::Plain, Access::Matrix, Access::Transposed})
    EXPECT_GT(kinds[kind], 0u) << int(kind);
}

TEST(Conversion, RandomShuffles) {
  RandomLayouts random(12);
  unsigned run = 0, widened = 0;
  for (unsigned trial = 0; trial < 6000; ++trial) {
    Pair pair = anyPair(random, random.upTo(5));
    unsigned bits = 8u << random.upTo(3);
    std::optional<ShuffleSchedule> schedule = planShuffles(pair.from, pair.to, bits);
    ASSERT_EQ(schedule.has_value(),
              holder(pair.from, pair.to, {Dim::Warp, Dim::Block}).has_value());
    if (!schedule)
      continue;
    ++run;
    unsigned words = 1u << (schedule->result.distinct - schedule->result.vector);
    widened += schedule->rounds() > words;
    ASSERT_EQ(Executor(pair.from, pair.to, bits).runShuffles(*schedule), "")
        << pair.from.str() << "\n"
        << pair.to.str();
    // As many rounds as words if the warps of both sides hold the same elements without replicas.
    bool lanesMatter = !(pair.from.freeBits() & pair.from.in().mask({Dim::Lane}));
    if (lanesMatter && gf2::rank(pair.from.columnsOf({Dim::Register, Dim::Lane})) ==
                           gf2::rank(pair.to.columnsOf({Dim::Register, Dim::Lane}))) {
      ASSERT_EQ(schedule->rounds(), words) << pair.from.str() << "\n" << pair.to.str();
    }
  }
  EXPECT_GT(run, 1000u);
  EXPECT_GT(widened, 0u);
}

TEST(Conversion, GivenMemory) {
  // The accesses planned for a given shared-memory layout are right and no more expensive than
  // those that the layout was computed for.
  RandomLayouts random(13);
  std::map<Access, unsigned> stores, loads;
  for (unsigned trial = 0; trial < 3000 && !testing::Test::HasFailure(); ++trial) {
    Pair pair = anyPair(random);
    if (pair.from.in().bits(Dim::Block) || pair.to.in().bits(Dim::Block))
      continue;
    unsigned bits = 8u << random.upTo(3);
    SharedFeatures features = random.upTo(1) ? sm90 : random.upTo(1) ? sm80 : sm70;
    Layout from = pair.from.broadcastTo(pair.to.in().only(threadDims));
    Layout to = pair.to.broadcastTo(pair.from.in().only(threadDims));
    std::optional<SharedExchange> made = planExchange(from, to, bits, features);
    ASSERT_TRUE(made);
    SharedExchange given = *made;
    given.store = planStore(made->memory, from, bits, features);
    given.load = planLoad(made->memory, to, bits, features);
    Executor executor(from, to, bits);
    ASSERT_EQ(executor.runExchange(given), "") << from.str() << "\n" << to.str();
    EXPECT_EQ(given.store.wavefronts, executor.storeWavefronts);
    EXPECT_EQ(given.load.wavefronts, executor.loadWavefronts);
    EXPECT_LE(given.store.cost(), made->store.cost()) << from.str() << "\n" << to.str();
    EXPECT_LE(given.load.cost(), made->load.cost()) << from.str() << "\n" << to.str();
    ++stores[given.store.kind];
    ++loads[given.load.kind];
  }
  for (Access kind : {Access::Plain, Access::Matrix, Access::Transposed}) {
    EXPECT_GT(stores[kind], 0u) << int(kind);
    EXPECT_GT(loads[kind], 0u) << int(kind);
  }
}

TEST(Conversion, Copies) {
  // Tiles copied in chunks of 16 bytes are read by ldmatrix without bank conflicts.
  Layout rows = blocked(std::array{128u, 64u}, {{1, 8}, {4, 8}, {8, 1}, {1, 0}});
  Layout operandA = (mmaOperandA(16, 16, 16) * Layout::strided(Dim::Warp, Dim::D0, 2) *
                     Layout::broadcast(Dim::Warp, 4))
                        .fit(Space::tensor({128, 64}), std::array{1u, 0u});
  Layout operandB = (mmaOperandB(16, 8, 16) * Layout::broadcast(Dim::Warp, 2) *
                     Layout::strided(Dim::Warp, Dim::D1, 4))
                        .fit(Space::tensor({128, 64}), std::array{1u, 0u});
  for (auto [to, kind] :
       {std::pair(operandA, Access::Matrix), std::pair(operandB, Access::Transposed)}) {
    std::optional<SharedExchange> plan = planCopy(rows, to, 16, 3, sm80);
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->load.kind, kind);
    EXPECT_EQ(plan->load.wavefronts, plan->load.accesses << plan->load.matrices);
    gf2::Vectors first(plan->memory.columns().begin(), plan->memory.columns().begin() + 3);
    EXPECT_EQ(first, (gf2::Vectors{1, 2, 4}));
  }
}

} // namespace

TEST(Conversion, ShufflesBetweenReplicasOfWarps) {
  // Every warp holds all elements, and keeps its own rows.
  Layout all = parsed("register[d1:1, d0:8, d1:8] lane[d1:2, d1:4, d0:1, d0:2, d0:4] warp[0, 0] -> "
                      "d0:16 d1:16"),
         rows = parsed("register[d0:8] lane[d1:1, d1:2, d1:4, d1:8, d0:1] warp[d0:2, d0:4] -> "
                       "d0:16 d1:16");
  for (unsigned bits : {16, 32}) {
    std::optional<ShuffleSchedule> schedule = planShuffles(all, rows, bits);
    ASSERT_TRUE(schedule);
    EXPECT_EQ(Executor(all, rows, bits).runShuffles(*schedule), "");
  }
}
