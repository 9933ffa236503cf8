//===- Program.cpp - Building, checking and printing host programs --------===//

#include "tessera_rt/program.h"

#include <algorithm>

namespace tessera::rt {

static void append(Expr &expr, const Expr &tail) {
  expr.code.insert(expr.code.end(), tail.code.begin(), tail.code.end());
}

Expr Expr::binary(ExprOp op, const Expr &lhs, const Expr &rhs) {
  Expr expr = lhs;
  append(expr, rhs);
  expr.code.push_back({op});
  return expr;
}

Expr Expr::logicalNot(const Expr &operand) {
  Expr expr = operand;
  expr.code.push_back({ExprOp::Not});
  return expr;
}

Expr Expr::select(const Expr &condition, const Expr &then, const Expr &otherwise) {
  Expr expr = condition;
  append(expr, then);
  append(expr, otherwise);
  expr.code.push_back({ExprOp::Select});
  return expr;
}

static unsigned arity(ExprOp op) {
  switch (op) {
  case ExprOp::Const:
  case ExprOp::Slot:
    return 0;
  case ExprOp::Not:
    return 1;
  case ExprOp::Select:
    return 3;
  default:
    return 2;
  }
}

namespace {

/// Validates a program and stops at the first error.
class Validator {
public:
  Validator(const Program &program, std::string &error) : program(program), error(error) {}

  bool run() {
    if (program.arguments.size() > maxArguments)
      return fail("expected at most " + std::to_string(maxArguments) + " arguments");
    for (const Argument &arg : program.arguments)
      if (arg.kind > Argument::Bool || !valid(arg.dtype) || arg.rank > maxRank)
        return fail("argument '" + arg.name + "' is malformed");
    for (size_t i = 0; i < program.slots.size(); ++i)
      if (!slot(program.slots[i], i))
        return fail("slot " + std::to_string(i) + " is malformed");
    size_t slots = program.slots.size();
    for (const Guard &guard : program.guards)
      if (guard.kind > Guard::Error || !expr(guard.condition, slots) ||
          !all(guard.operands, [&](const Expr &e) { return expr(e, slots); }))
        return fail("guard '" + guard.message + "' is malformed");
    for (const Result &result : program.results)
      if (!valid(result.dtype) || result.sizes.size() > maxRank ||
          !all(result.sizes, [&](const Expr &e) { return expr(e, slots); }))
        return fail("a result is malformed");
    for (const Temporary &temp : program.temporaries)
      if (!expr(temp.bytes, slots) || temp.firstStep > temp.lastStep ||
          temp.lastStep >= program.steps.size())
        return fail("a temporary is malformed");
    for (size_t i = 0; i < program.steps.size(); ++i)
      if (!step(program.steps[i], i))
        return fail("step " + std::to_string(i) + " is malformed");
    for (const Print &print : program.prints)
      if (!valid(print.dtype) || print.sizes.size() > maxRank ||
          print.index >=
              (print.isTemporary ? program.temporaries.size() : program.results.size()) ||
          !all(print.sizes, [&](const Expr &e) { return expr(e, slots); }))
        return fail("the print of '" + print.label + "' is malformed");
    return true;
  }

private:
  bool fail(std::string message) {
    error = "invalid host program: " + std::move(message);
    return false;
  }

  static bool valid(DType dtype) { return static_cast<unsigned>(dtype) < numDTypes; }

  template <typename Range, typename Predicate> static bool all(const Range &range, Predicate p) {
    return std::all_of(range.begin(), range.end(), p);
  }

  /// One value must remain, no operand may be missing, and the stack must fit.
  bool expr(const Expr &e, size_t slots) const {
    if (e.code.empty() || e.code.size() > maxExprLength)
      return false;
    unsigned depth = 0;
    for (const ExprInstr &instr : e.code) {
      if (static_cast<unsigned>(instr.op) >= numExprOps)
        return false;
      if (instr.op == ExprOp::Slot &&
          (instr.operand < 0 || static_cast<uint64_t>(instr.operand) >= slots))
        return false;
      unsigned operands = arity(instr.op);
      if (depth < operands)
        return false;
      depth = depth - operands + 1;
      if (depth > maxExprDepth)
        return false;
    }
    return depth == 1;
  }

  bool slot(const Slot &s, size_t index) const {
    if (s.source == Slot::Derived)
      return expr(s.expr, index);
    if (s.source == Slot::Device)
      return s.dim < numDeviceFacts;
    if (s.source > Slot::Device || s.arg >= program.arguments.size())
      return false;
    const Argument &arg = program.arguments[s.arg];
    if (s.source == Slot::ArgAddress)
      return arg.kind == Argument::Tensor;
    if (s.source == Slot::ArgInt)
      return arg.kind == Argument::Int || arg.kind == Argument::Bool;
    return arg.kind == Argument::Tensor && s.dim < arg.rank;
  }

  bool word(const Word &w, size_t stepIndex) const {
    size_t slots = program.slots.size();
    if (!valid(w.dtype))
      return false;
    bool offset = w.expr.empty() || expr(w.expr, slots);
    switch (w.kind) {
    case Word::ArgAddress:
      return offset && w.index < program.arguments.size() &&
             program.arguments[w.index].kind == Argument::Tensor;
    case Word::ResultAddress:
      return offset && w.index < program.results.size();
    case Word::TempAddress: {
      if (!offset || w.index >= program.temporaries.size())
        return false;
      const Temporary &temp = program.temporaries[w.index];
      return temp.firstStep <= stepIndex && stepIndex <= temp.lastStep;
    }
    case Word::Integer:
      return expr(w.expr, slots);
    case Word::Scalar:
      return w.index < program.arguments.size() &&
             program.arguments[w.index].kind != Argument::Tensor;
    }
    return false;
  }

  bool tensorMap(const TensorMap &map, const Step &s) const {
    size_t rank = map.dims.size();
    if (rank < 1 || rank > TensorMap::maxDims || map.spans < 1 || map.spans > TensorMap::maxBox ||
        (map.spans > 1 && rank == TensorMap::maxDims) || map.sizes.size() != rank ||
        s.words.size() < 1 + 2 * rank || map.word > s.words.size() - 1 - 2 * rank)
      return false;
    const Word &address = s.words[map.word];
    bool isAddress = address.kind == Word::ArgAddress || address.kind == Word::ResultAddress ||
                     address.kind == Word::TempAddress;
    uint32_t seen = 0;
    for (uint32_t dim : map.dims)
      seen |= dim < rank ? 1u << dim : 0;
    // A box that is not swizzled may have a row of any length.
    auto isRow = [](uint64_t bytes, uint32_t span) {
      return bytes == span || (span == 16 && bytes % span == 0);
    };
    bool isSpan = map.span == 16 || map.span == 32 || map.span == 64 || map.span == 128;
    bool isElement = map.elementBytes == 1 || map.elementBytes == 2 || map.elementBytes == 4 ||
                     map.elementBytes == 8;
    bool isRounding = map.rounded == 0 || (map.rounded == 1 && map.elementBytes == 4);
    return isAddress && isSpan && isElement && isRounding && seen == (1u << rank) - 1 &&
           all(map.sizes, [&](uint32_t size) { return size > 0 && size <= TensorMap::maxBox; }) &&
           isRow(uint64_t(map.sizes[0]) * map.elementBytes, map.span);
  }

  bool step(const Step &s, size_t index) const {
    size_t slots = program.slots.size();
    return s.kernel < program.kernels.size() && !s.grid.empty() && s.grid.size() <= 3 &&
           s.grain > 0 && s.words.size() <= maxWords && (s.work.empty() || expr(s.work, slots)) &&
           all(s.grid, [&](const Expr &e) { return expr(e, slots); }) &&
           all(s.words, [&](const Word &w) { return word(w, index); }) &&
           all(s.maps, [&](const TensorMap &map) { return tensorMap(map, s); }) &&
           all(s.checks, [&](const Check &check) {
             return check.kind <= Check::Assertion &&
                    all(check.operands, [&](const Expr &e) { return expr(e, slots); });
           });
  }

  const Program &program;
  std::string &error;
};

/// Expressions in infix notation, fully parenthesised, for listings.
std::string infix(const Expr &e) {
  static constexpr const char *names[numExprOps] = {
      "",   "",   "+", "-",  "*", "//", "ceildiv", "%",  "min", "max",
      "==", "!=", "<", "<=", ">", ">=", "and",     "or", "not", "select"};
  std::vector<std::string> stack;
  auto pop = [&] {
    std::string top = std::move(stack.back());
    stack.pop_back();
    return top;
  };
  for (const ExprInstr &instr : e.code) {
    std::string name = names[static_cast<unsigned>(instr.op)];
    bool call = instr.op == ExprOp::Min || instr.op == ExprOp::Max || instr.op == ExprOp::CeilDiv;
    switch (arity(instr.op)) {
    case 0:
      stack.push_back((instr.op == ExprOp::Slot ? "s" : "") + std::to_string(instr.operand));
      break;
    case 1:
      stack.push_back("(not " + pop() + ")");
      break;
    case 2: {
      std::string rhs = pop(), lhs = pop();
      stack.push_back(call ? name + "(" + lhs + ", " + rhs + ")"
                           : "(" + lhs + " " + name + " " + rhs + ")");
      break;
    }
    default: {
      std::string otherwise = pop(), then = pop(), condition = pop();
      stack.push_back("(" + then + " if " + condition + " else " + otherwise + ")");
    }
    }
  }
  return stack.empty() ? "0" : stack.back();
}

std::string infix(const std::vector<Expr> &list) {
  std::string text;
  for (const Expr &e : list)
    text += (text.empty() ? "" : ", ") + infix(e);
  return text;
}

std::string listing(const Word &w) {
  std::string offset = w.expr.empty() ? "" : " + " + infix(w.expr);
  std::string index = std::to_string(w.index);
  switch (w.kind) {
  case Word::ArgAddress:
    return "&arg" + index + offset;
  case Word::ResultAddress:
    return "&result" + index + offset;
  case Word::TempAddress:
    return "&temp" + index + offset;
  case Word::Integer:
    return infix(w.expr);
  case Word::Scalar:
    return std::string(dtypeName(w.dtype)) + "(arg" + index + ")";
  }
  return "";
}

} // namespace

bool validate(const Program &program, std::string &error) {
  return Validator(program, error).run();
}

std::string toString(const Program &program) {
  static constexpr const char *kinds[] = {"tensor", "int", "float", "bool"};
  std::string text;
  for (size_t i = 0; i < program.arguments.size(); ++i) {
    const Argument &arg = program.arguments[i];
    text += "arg" + std::to_string(i) + " " + arg.name + ": " + kinds[arg.kind];
    if (arg.kind == Argument::Tensor)
      text += " " + std::string(dtypeName(arg.dtype)) + " rank " + std::to_string(arg.rank);
    text += "\n";
  }
  for (size_t i = 0; i < program.slots.size(); ++i) {
    const Slot &s = program.slots[i];
    std::string arg = "arg" + std::to_string(s.arg), dim = "[" + std::to_string(s.dim) + "]";
    text += "s" + std::to_string(i) + " = ";
    text += s.source == Slot::ArgSize      ? arg + ".size" + dim
            : s.source == Slot::ArgStride  ? arg + ".stride" + dim
            : s.source == Slot::ArgInt     ? arg
            : s.source == Slot::ArgAddress ? "&" + arg
            : s.source == Slot::Device     ? std::string(s.dim ? "l2_bytes" : "sm_count")
                                           : infix(s.expr);
    text += "\n";
  }
  for (const Guard &guard : program.guards)
    text += std::string(guard.kind == Guard::Error ? "check " : "guard ") + infix(guard.condition) +
            " \"" + guard.message + "\"\n";
  for (size_t i = 0; i < program.results.size(); ++i)
    text += "result" + std::to_string(i) + ": " + dtypeName(program.results[i].dtype) + "[" +
            infix(program.results[i].sizes) + "]\n";
  for (size_t i = 0; i < program.temporaries.size(); ++i) {
    const Temporary &temp = program.temporaries[i];
    text += "temp" + std::to_string(i) + ": " + infix(temp.bytes) + " bytes, steps " +
            std::to_string(temp.firstStep) + " to " + std::to_string(temp.lastStep) + "\n";
  }
  for (const Step &step : program.steps) {
    text += "launch " + program.kernels[step.kernel] + " grid (" + infix(step.grid) + ") (";
    for (size_t i = 0; i < step.words.size(); ++i)
      text += (i ? ", " : "") + listing(step.words[i]);
    text += ")";
    if (step.grain != 1)
      text += " grain " + std::to_string(step.grain);
    if (!step.work.empty())
      text += " work " + infix(step.work);
    text += "\n";
    for (const TensorMap &map : step.maps) {
      text += "  tensor map of word " + std::to_string(map.word) + ", elements of " +
              std::to_string(map.elementBytes) + " bytes, " + std::to_string(map.spans) +
              " spans of " + std::to_string(map.span) + ", boxes (";
      for (size_t i = 0; i < map.dims.size(); ++i)
        text += (i ? ", dim " : "dim ") + std::to_string(map.dims[i]) + ": " +
                std::to_string(map.sizes[i]);
      text += map.rounded ? "), rounded to tf32\n" : ")\n";
    }
    for (const Check &check : step.checks)
      text += std::string(check.kind == Check::Index ? "  index" : "  assertion") + " \"" +
              check.message + "\" (" + infix(check.operands) + ")\n";
  }
  for (const Print &print : program.prints)
    text += "print \"" + print.label + "\" " + dtypeName(print.dtype) + "[" + infix(print.sizes) +
            "] " + (print.isTemporary ? "temp" : "result") + std::to_string(print.index) + "\n";
  return text;
}

} // namespace tessera::rt
