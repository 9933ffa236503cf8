//===- Plan.h - Host programs laid out for fast interpretation ------------===//
//
// The same content as a Program, with all expressions in one array of instructions, so that binding
// a call reads memory sequentially. A plan is built from a validated program only: evaluation
// checks nothing but overflow.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_PLAN_H
#define TESSERA_RT_SRC_PLAN_H

#include "tessera_rt/program.h"

#include <optional>

namespace tessera::rt {

/// A range of Plan::code.
struct PlanExpr {
  uint32_t begin = 0;
  uint32_t count = 0; // 0: absent
};

struct PlanSlot {
  Slot::Source source;
  uint32_t arg, dim;
  PlanExpr expr;
};

/// Most guards require that one slot equals a number, is at most or at least one, or is a multiple
/// of a power of two: low <= (slot & mask) <= high.
struct PlanRange {
  uint32_t slot;
  int64_t mask, low, high;
};

struct PlanGuard {
  Guard::Kind kind;
  uint32_t index; // into Program::guards
  PlanExpr condition;
  std::optional<PlanRange> range; // the same as a range, if it has that form
};

struct PlanWord {
  Word::Kind kind;
  DType dtype;
  uint32_t index;
  PlanExpr expr;
};

struct PlanStep {
  uint32_t kernel, grain;
  uint32_t gridRank;
  PlanExpr grid[3];
  PlanExpr work;
  uint32_t firstWord, wordCount;
  uint32_t firstPatch, patchCount; // into Plan::patches
};

struct PlanResult {
  DType dtype;
  uint32_t rank;
  uint32_t firstSize; // into Plan::resultSizes and the frame's sizes
};

struct PlanTemporary {
  PlanExpr bytes;
  uint32_t firstStep, lastStep;
};

struct Plan {
  explicit Plan(Program program);

  /// Sets `overflow` if a value does not fit in 64 bits; never clears it.
  int64_t evaluate(PlanExpr expr, const int64_t *slots, bool &overflow) const;

  /// Whether a guard holds.
  bool holds(const PlanGuard &guard, const int64_t *slots, bool &overflow) const {
    if (!guard.range)
      return evaluate(guard.condition, slots, overflow) != 0;
    int64_t value = slots[guard.range->slot] & guard.range->mask;
    return guard.range->low <= value && value <= guard.range->high;
  }

  Program source; // names, guards' messages and operands
  std::vector<ExprInstr> code;
  std::vector<PlanSlot> slots;
  std::vector<PlanGuard> guards; // specialisation guards come first
  std::vector<PlanResult> results;
  std::vector<PlanExpr> resultSizes;
  std::vector<PlanTemporary> temporaries;
  std::vector<PlanStep> steps;
  std::vector<PlanWord> words;
  std::vector<uint32_t> patches; // of each step, the words that are not integers
  uint32_t mostWords = 0;        // of any step
  uint32_t shapeWords = 0;       // sizes and strides of all arguments

  // The slots and guards (indices into `slots` and `guards`) that change if only the addresses of a
  // call do. A plan in which anything else changes cannot be bound again.
  std::vector<uint32_t> addressSlots, addressGuards;
  bool isRebindable = true;

private:
  void findAddressUses();
  PlanExpr flatten(const Expr &expr);
};

/// Evaluates an expression that is not part of a plan (a guard's operand, a test).
int64_t evaluate(const Expr &expr, const int64_t *slots, bool &overflow);

/// A message with {0}, {1}, … replaced by values.
std::string expand(std::string message, std::span<const int64_t> values);

/// The bits of a number as an element of type `dtype`, rounded to nearest even, zero-extended.
uint64_t scalarBits(double value, DType dtype);
uint64_t scalarBits(int64_t value, DType dtype);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_PLAN_H
