//===- Shuffles.cpp - Conversions within a warp ---------------------------===//
//
// A warp shuffle lets every lane send one 32-bit word and receive the word of one other lane. Let H
// be the linear map from locations of the result to locations of the source (Conversion.h). A lane
// receives one word per round, so there are at least as many rounds as words of the result. If
// every lane received its word k in round k, two lanes could need different words of the same
// source lane in the same round. Each lane therefore has its own order: in round k, lane l receives
// word k ^ T l, with T linear. That word comes from lane  F k ^ P l  and is its word  R k ^ Q l,
// where P l and Q l are the lane and word parts of H(T l, l). A source lane can serve all its
// readers with one word if the word depends on the source lane alone: P l = 0 must imply Q l = 0.
// The word is then R k ^ S (lane ^ F k)  with S P = Q.
//
// T is chosen column by column. Adding words (and locations that hold the same element) to a lane
// bit moves its source lane within a subspace U. A choice that keeps the columns of P independent
// exists at every step if and only if U and the lane bits together reach enough lanes. They do,
// unless the threads of the source hold more than those of the result; then the result is extended
// by words that are dropped.
//
//===----------------------------------------------------------------------===//
#include "tessera/Layout/Conversion.h"

#include <algorithm>
#include <cassert>

using namespace tessera;
using gf2::Vectors;

/// The layout with its registers in the given order and without replicas.
static Layout inOrder(const Layout &layout, const RegisterOrder &order) {
  Space in = layout.in();
  in.setBits(Dim::Register, order.distinct);
  Vectors columns;
  for (uint64_t number : gf2::units(order.distinct))
    columns.push_back(layout(order.order(number)));
  return Layout(in, layout.out(), gf2::concat({columns, layout.columnsOf(~DimSet{Dim::Register})}));
}

/// The registers (XORs of register numbers) that hold the given elements.
static Vectors registersOf(const Layout &layout, gf2::VectorsRef elements) {
  gf2::Subspace held(layout.columns(Dim::Register));
  Vectors numbers;
  for (uint64_t element : elements)
    numbers.push_back(*held.express(element));
  return numbers;
}

namespace {
/// H for words that consist of the elements `packed`.
struct Words {
  RegisterOrder source, result;
  Layout from, to, holds; // with registers in order

  /// Nothing if the conversion would split words: only the first bits of a register number may move
  /// within a word.
  static std::optional<Words> make(const Layout &from, const Layout &to, gf2::VectorsRef packed) {
    Words words;
    uint64_t inWord = (uint64_t(1) << packed.size()) - 1;
    words.source = registerOrder(from, registersOf(from, packed), 0);
    words.from = inOrder(from, words.source);
    words.result = registerOrder(to, registersOf(to, packed), 0);
    std::optional<Layout> holds =
        holder(words.from, inOrder(to, words.result), {Dim::Warp, Dim::Block});
    if (!holds)
      return std::nullopt;
    // A register of the result whose element has another position in its word is replaced by one
    // with the same position.
    Vectors numbers(words.result.order.columns().begin(), words.result.order.columns().end());
    for (unsigned i = packed.size(); i < words.result.distinct; ++i)
      numbers[i] ^= words.result.order(holds->columns()[i] & inWord);
    words.result.order = Layout(words.result.order.in(), words.result.order.out(), numbers);
    words.to = inOrder(to, words.result);
    words.holds = *holder(words.from, words.to, {Dim::Warp, Dim::Block});
    for (uint64_t column : words.holds.columns().subspan(packed.size()))
      if (column & inWord)
        return std::nullopt;
    return words;
  }
};

/// The choice of T, for words.
class Scheduler {
public:
  Scheduler(const Words &words, unsigned packed)
      : in(words.from.in()), packed(packed), holds(words.holds) {
    for (uint64_t column : holds.columns(Dim::Register).subspan(packed))
      moves.push_back(column);
    // Replicas of an element change the source lane without changing the word.
    Vectors kept;
    uint64_t threads = in.mask({Dim::Warp, Dim::Block}), inWord = (uint64_t(1) << packed) - 1;
    for (uint64_t place : gf2::units(in.bits()))
      kept.push_back(words.from(place) | (place & threads) << words.from.out().bits());
    for (uint64_t same : gf2::kernel(kept))
      if (!(same & inWord))
        copies.push_back(same);
  }

  void run() {
    for (unsigned bit = 0; bit < holds.in().bits(Dim::Lane); ++bit)
      chooseLane(bit);
  }

  void write(ShuffleSchedule &schedule) const {
    unsigned rounds = moves.size();
    Space words{{Dim::Register, uint64_t(1) << rounds}}, lanes = in.only({Dim::Lane});
    Space from{{Dim::Register, in.size(Dim::Register) >> packed}};
    Space places = holds.in().only(threadDims);
    places.setBits(Dim::Round, rounds);
    Vectors send, lane, keep; // locations are (lane, warp, block, round)
    for (unsigned bit = 0; bit < holds.in().bits(Dim::Lane); ++bit) {
      send.push_back(wordOfLane(uint64_t(1) << bit));
      lane.push_back(laneOf(totals[bit]));
      keep.push_back(taken[bit]);
    }
    for (uint64_t column : holds.columnsOf({Dim::Warp, Dim::Block})) {
      send.push_back(wordOf(column) ^ wordOfLane(laneOf(column)));
      lane.push_back(laneOf(column));
      keep.push_back(0);
    }
    for (unsigned round = 0; round < rounds; ++round) {
      send.push_back(wordOf(moves[round]) ^ wordOfLane(laneOf(moves[round])));
      lane.push_back(laneOf(moves[round]));
      keep.push_back(uint64_t(1) << round);
    }
    schedule.send = Layout(places, from, std::move(send));
    schedule.lane = Layout(places, lanes, std::move(lane));
    schedule.keep = Layout(places, words, std::move(keep));
  }

private:
  uint64_t laneOf(uint64_t place) const {
    return place >> in.shift(Dim::Lane) & (in.size(Dim::Lane) - 1);
  }
  uint64_t wordOf(uint64_t place) const { return (place & (in.size(Dim::Register) - 1)) >> packed; }

  /// S: the word that a lane sends in round 0.
  uint64_t wordOfLane(uint64_t lane) const {
    gf2::Subspace space;
    Vectors words;
    for (uint64_t total : chosen) {
      space.add(laneOf(total));
      words.push_back(wordOf(total));
    }
    for (uint64_t unit : gf2::extend(Vectors(lanesOf(chosen)), gf2::units(in.bits(Dim::Lane)))) {
      space.add(unit);
      words.push_back(0);
    }
    return gf2::sum(words, *space.express(lane));
  }

  Vectors lanesOf(gf2::VectorsRef places) const {
    Vectors lanes;
    for (uint64_t place : places)
      lanes.push_back(laneOf(place));
    return lanes;
  }

  /// P and Q of lane bit `bit`, and its column of T.
  void settle(uint64_t total, uint64_t words, bool isNew) {
    totals.push_back(total);
    taken.push_back(words);
    if (isNew)
      chosen.push_back(total);
  }

  void chooseLane(unsigned bit) {
    uint64_t start = holds.columns(Dim::Lane)[bit];
    gf2::Subspace reached(lanesOf(chosen));
    Vectors steps = gf2::concat({moves, copies});
    auto wordsOf = [&](uint64_t selection) {
      return selection & ((uint64_t(1) << moves.size()) - 1);
    };

    // Prefer the lane itself: a move instead of a shuffle.
    uint64_t own = uint64_t(1) << bit;
    std::optional<uint64_t> there = gf2::Subspace(lanesOf(steps)).express(laneOf(start) ^ own);
    if (there && bit < in.bits(Dim::Lane) && !reached.contains(own))
      return settle(start ^ gf2::sum(steps, *there), wordsOf(*there), true);

    // If other lanes receive the same word, their source lane serves this one, too.
    gf2::Subspace known(gf2::concat({steps, chosen}));
    if (std::optional<uint64_t> how = known.express(start)) {
      uint64_t selection = *how & ((uint64_t(1) << steps.size()) - 1);
      return settle(start ^ gf2::sum(steps, selection), wordsOf(selection), false);
    }

    // Otherwise, any source lane that is not yet used.
    if (!reached.contains(laneOf(start)))
      return settle(start, 0, true);
    for (size_t i = 0; i < steps.size(); ++i)
      if (!reached.contains(laneOf(start ^ steps[i])))
        return settle(start ^ steps[i], wordsOf(uint64_t(1) << i), true);
    for (unsigned lane = 0; lane < in.bits(Dim::Lane); ++lane)
      if (!reached.contains(uint64_t(1) << lane)) {
        moves.push_back(uint64_t(1) << (in.shift(Dim::Lane) + lane));
        return settle(start ^ moves.back(), uint64_t(1) << (moves.size() - 1), true);
      }
    assert(false && "expected an unused source lane for every lane bit");
  }

  Space in;
  unsigned packed;
  Layout holds;
  Vectors moves; // H of the words of the result, and of dropped words
  Vectors copies;
  Vectors totals, taken; // by lane bit: H(T l, l), T l
  Vectors chosen;        // the totals with independent source lanes
};
} // namespace

std::optional<ShuffleSchedule> tessera::planShuffles(const Layout &from, const Layout &to,
                                                     unsigned bits) {
  Layout source = from.broadcastTo(to.in().only(threadDims));
  Layout result = to.broadcastTo(from.in().only(threadDims));
  std::optional<Words> words = Words::make(source, result, {});
  if (!words)
    return std::nullopt;
  // Elements that are in registers on both sides are packed into words of up to 32 bits.
  Vectors packed,
      both = gf2::intersect(source.columns(Dim::Register), result.columns(Dim::Register));
  gf2::Subspace shared(both);
  Vectors plain;
  for (uint64_t column : source.columns(Dim::Register))
    if (column && shared.contains(column))
      plain.push_back(column);
  for (uint64_t element : gf2::extend({}, gf2::concat({plain, both}))) {
    if (bits << packed.size() >= 32)
      break;
    packed.push_back(element);
    if (auto wider = Words::make(source, result, packed))
      words = wider;
    else
      packed.pop_back();
  }
  ShuffleSchedule schedule;
  schedule.source = words->source;
  schedule.result = words->result;
  Scheduler scheduler(*words, packed.size());
  scheduler.run();
  scheduler.write(schedule);
  return schedule;
}

bool ShuffleSchedule::isLocal(unsigned round) const {
  const Space &places = lane.in();
  Layout byThread = lane.sublayout(threadDims);
  for (uint64_t place : gf2::units(byThread.in().bits()))
    if (byThread(place) != (place & (places.size(Dim::Lane) - 1)))
      return false;
  return lane(uint64_t(round) << places.shift(Dim::Round)) == 0;
}

unsigned ShuffleSchedule::cost(unsigned bits) const {
  // The local rounds form a subspace, or there are none.
  unsigned local = isLocal(0) ? rounds() >> gf2::rank(lane.columns(Dim::Round)) : 0;
  unsigned shuffles = rounds() - local;
  // A word that depends on the lane is selected bit by bit of its number.
  unsigned selects = gf2::rank(send.columnsOf(threadDims)) + gf2::rank(keep.columnsOf(threadDims));
  return (2 * shuffles + selects * rounds()) * (bits > 32 ? bits / 32 : 1);
}
