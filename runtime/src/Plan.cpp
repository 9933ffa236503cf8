//===- Plan.cpp - Flattening and evaluating host programs -----------------===//

#include "Plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace tessera::rt {

static int64_t floorDiv(int64_t a, int64_t b, bool &overflow) {
  if (b == 0)
    return 0;
  if (b == -1) {
    int64_t negated;
    overflow |= __builtin_sub_overflow(int64_t(0), a, &negated);
    return negated;
  }
  int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t ceilDiv(int64_t a, int64_t b, bool &overflow) {
  if (b == 0 || b == -1)
    return floorDiv(a, b, overflow);
  int64_t quotient = a / b;
  return quotient + (a % b != 0 && (a < 0) == (b < 0));
}

static int64_t mod(int64_t a, int64_t b) {
  if (b > 0 && (b & (b - 1)) == 0) // alignment: a division would take ten times as long
    return a & (b - 1);
  if (b == 0 || b == -1)
    return 0;
  int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static int64_t evaluateCode(const ExprInstr *code, size_t count, const int64_t *slots,
                            bool &overflow) {
  int64_t stack[maxExprDepth];
  int64_t *top = stack; // one past the last value
  for (const ExprInstr *instr = code; instr != code + count; ++instr) {
    switch (instr->op) {
    case ExprOp::Const:
      *top++ = instr->operand;
      continue;
    case ExprOp::Slot:
      *top++ = slots[instr->operand];
      continue;
    case ExprOp::Not:
      top[-1] = !top[-1];
      continue;
    case ExprOp::Select:
      top -= 2;
      top[-1] = top[-1] ? top[0] : top[1];
      continue;
    default:
      break;
    }
    int64_t b = *--top;
    int64_t &a = top[-1];
    switch (instr->op) {
    case ExprOp::Add:
      overflow |= __builtin_add_overflow(a, b, &a);
      break;
    case ExprOp::Sub:
      overflow |= __builtin_sub_overflow(a, b, &a);
      break;
    case ExprOp::Mul:
      overflow |= __builtin_mul_overflow(a, b, &a);
      break;
    case ExprOp::FloorDiv:
      a = floorDiv(a, b, overflow);
      break;
    case ExprOp::CeilDiv:
      a = ceilDiv(a, b, overflow);
      break;
    case ExprOp::Mod:
      a = mod(a, b);
      break;
    case ExprOp::Min:
      a = std::min(a, b);
      break;
    case ExprOp::Max:
      a = std::max(a, b);
      break;
    case ExprOp::Eq:
      a = a == b;
      break;
    case ExprOp::Ne:
      a = a != b;
      break;
    case ExprOp::Lt:
      a = a < b;
      break;
    case ExprOp::Le:
      a = a <= b;
      break;
    case ExprOp::Gt:
      a = a > b;
      break;
    case ExprOp::Ge:
      a = a >= b;
      break;
    case ExprOp::And:
      a = a && b;
      break;
    case ExprOp::Or:
      a = a || b;
      break;
    default:
      __builtin_unreachable();
    }
  }
  return stack[0];
}

int64_t evaluate(const Expr &expr, const int64_t *slots, bool &overflow) {
  return expr.empty() ? 0 : evaluateCode(expr.code.data(), expr.code.size(), slots, overflow);
}

std::string expand(std::string message, std::span<const int64_t> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    std::string mark = "{" + std::to_string(i) + "}", value = std::to_string(values[i]);
    for (size_t at = message.find(mark); at != std::string::npos;
         at = message.find(mark, at + value.size()))
      message.replace(at, mark.size(), value);
  }
  return message;
}

int64_t Plan::evaluate(PlanExpr expr, const int64_t *slots, bool &overflow) const {
  const ExprInstr *first = code.data() + expr.begin;
  // Most expressions are one slot or one number.
  if (expr.count == 1)
    return first->op == ExprOp::Slot ? slots[first->operand] : first->operand;
  return expr.count ? evaluateCode(first, expr.count, slots, overflow) : 0;
}

PlanExpr Plan::flatten(const Expr &expr) {
  PlanExpr flat = {static_cast<uint32_t>(code.size()), static_cast<uint32_t>(expr.code.size())};
  code.insert(code.end(), expr.code.begin(), expr.code.end());
  return flat;
}

/// Whether an earlier guard of the same kind has the same condition.
static bool repeats(const std::vector<Guard> &guards, uint32_t index) {
  auto same = [](const ExprInstr &a, const ExprInstr &b) {
    return a.op == b.op && a.operand == b.operand;
  };
  const Guard &guard = guards[index];
  for (uint32_t i = 0; i < index; ++i)
    if (guards[i].kind == guard.kind &&
        std::ranges::equal(guards[i].condition.code, guard.condition.code, same))
      return true;
  return false;
}

/// slot [+- constant]… [% power of two] (== | <= | >=) constant; a sum may start with its constant.
static std::optional<PlanRange> rangeOf(const Expr &condition) {
  std::vector<ExprInstr> code = condition.code;
  if (code.size() < 3 || code.size() % 2 == 0)
    return std::nullopt;
  if (code[0].op == ExprOp::Const && code[1].op == ExprOp::Slot && code[2].op == ExprOp::Add)
    std::swap(code[0], code[1]);
  if (code[0].op != ExprOp::Slot)
    return std::nullopt;
  PlanRange range = {static_cast<uint32_t>(code[0].operand), -1,
                     std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  int64_t offset = 0;
  bool overflow = false;
  for (size_t i = 1; i < code.size(); i += 2) {
    if (code[i].op != ExprOp::Const)
      return std::nullopt;
    int64_t number = code[i].operand;
    bool isLast = i + 2 == code.size();
    switch (code[i + 1].op) {
    case ExprOp::Add:
      overflow |= __builtin_add_overflow(offset, number, &offset);
      break;
    case ExprOp::Sub:
      overflow |= __builtin_sub_overflow(offset, number, &offset);
      break;
    case ExprOp::Mod:
      if (offset != 0 || range.mask != -1 || number <= 0 || (number & (number - 1)) != 0)
        return std::nullopt;
      range.mask = number - 1;
      break;
    case ExprOp::Eq:
    case ExprOp::Le:
    case ExprOp::Ge:
      overflow |= __builtin_sub_overflow(number, offset, &number);
      if (!isLast || overflow)
        return std::nullopt;
      if (code[i + 1].op != ExprOp::Ge)
        range.high = number;
      if (code[i + 1].op != ExprOp::Le)
        range.low = number;
      return range;
    default:
      return std::nullopt;
    }
  }
  return std::nullopt;
}

Plan::Plan(Program program) : source(std::move(program)) {
  for (const Slot &slot : source.slots)
    slots.push_back({slot.source, slot.arg, slot.dim, flatten(slot.expr)});
  for (Guard::Kind kind : {Guard::Specialisation, Guard::Error})
    for (uint32_t i = 0; i < source.guards.size(); ++i)
      if (source.guards[i].kind == kind && !repeats(source.guards, i))
        guards.push_back(
            {kind, i, flatten(source.guards[i].condition), rangeOf(source.guards[i].condition)});
  for (const Result &result : source.results) {
    results.push_back({result.dtype, static_cast<uint32_t>(result.sizes.size()),
                       static_cast<uint32_t>(resultSizes.size())});
    for (const Expr &size : result.sizes)
      resultSizes.push_back(flatten(size));
  }
  for (const Temporary &temp : source.temporaries)
    temporaries.push_back({flatten(temp.bytes), temp.firstStep, temp.lastStep});
  for (const Step &step : source.steps) {
    PlanStep flat = {};
    flat.kernel = step.kernel;
    flat.grain = step.grain;
    flat.gridRank = static_cast<uint32_t>(step.grid.size());
    for (size_t i = 0; i < step.grid.size(); ++i)
      flat.grid[i] = flatten(step.grid[i]);
    flat.work = flatten(step.work);
    flat.firstWord = static_cast<uint32_t>(words.size());
    flat.wordCount = static_cast<uint32_t>(step.words.size());
    flat.firstPatch = static_cast<uint32_t>(patches.size());
    for (uint32_t i = 0; i < flat.wordCount; ++i) {
      const Word &word = step.words[i];
      words.push_back({word.kind, word.dtype, word.index, flatten(word.expr)});
      if (word.kind != Word::Integer)
        patches.push_back(i);
    }
    flat.patchCount = static_cast<uint32_t>(patches.size()) - flat.firstPatch;
    steps.push_back(flat);
    mostWords = std::max(mostWords, flat.wordCount);
  }
  for (const Argument &argument : source.arguments)
    if (argument.kind == Argument::Tensor)
      shapeWords += 2 * argument.rank;
  findAddressUses();
}

void Plan::findAddressUses() {
  std::vector<bool> depends(slots.size());
  auto usesAddress = [&](PlanExpr expr) {
    return std::any_of(code.begin() + expr.begin, code.begin() + expr.begin + expr.count,
                       [&](const ExprInstr &instr) {
                         return instr.op == ExprOp::Slot &&
                                depends[static_cast<size_t>(instr.operand)];
                       });
  };
  for (uint32_t i = 0; i < slots.size(); ++i) {
    depends[i] = slots[i].source == Slot::ArgAddress ||
                 (slots[i].source == Slot::Derived && usesAddress(slots[i].expr));
    if (depends[i])
      addressSlots.push_back(i);
  }
  for (uint32_t i = 0; i < guards.size(); ++i)
    if (usesAddress(guards[i].condition))
      addressGuards.push_back(i);
  isRebindable = std::none_of(resultSizes.begin(), resultSizes.end(), usesAddress);
  for (const PlanTemporary &temporary : temporaries)
    isRebindable &= !usesAddress(temporary.bytes);
  for (const PlanStep &step : steps)
    for (uint32_t d = 0; d < step.gridRank; ++d)
      isRebindable &= !usesAddress(step.grid[d]);
  for (const PlanWord &word : words)
    isRebindable &= !usesAddress(word.expr);
}

uint64_t scalarBits(double value, DType dtype) {
  if (isFloat(dtype))
    return encodeFloat(value, dtype);
  if (dtype == DType::Bool)
    return value != 0;
  // A number out of range or NaN saturates rather than being undefined.
  constexpr double limit = 9223372036854775808.0;
  int64_t whole = std::isnan(value) ? 0
                  : value >= limit  ? std::numeric_limits<int64_t>::max()
                  : value < -limit  ? std::numeric_limits<int64_t>::min()
                                    : static_cast<int64_t>(value);
  return encodeInteger(whole, dtype);
}

uint64_t scalarBits(int64_t value, DType dtype) {
  // One rounding from 64 bits.
  if (dtype == DType::FP32)
    return std::bit_cast<uint32_t>(static_cast<float>(value));
  return isFloat(dtype) ? encodeFloat(static_cast<double>(value), dtype)
                        : encodeInteger(value, dtype);
}

} // namespace tessera::rt
