//===- Operators.cpp - Operators on known numbers and sequences -----------===//
//
// Known values are computed as in Python, with 64-bit integers that must not overflow. Symbolic
// integers stay size expressions if the operator has one. If an operand is a tensor, or a symbolic
// integer is combined with a float, the operation is emitted to the graph.
//
//===------------------------------------------------------------------------------------------===//
#include "Emitter.h"

#include <cmath>

using namespace tessera;
using namespace tessera::ast;
using namespace tessera::sema;

//===------------------------------------------------------------------------------------------===//
// Unary
//===------------------------------------------------------------------------------------------===//

Value Interpreter::unary(UnaryOp op, const Value &operand, SourceRange range) {
  if (operand.isError())
    return operand;
  if (op == UnaryOp::Not) {
    if (operand.isTensor() && !operand.number.isSymbol())
      return error(range,
                   "'not' needs a value that is known when the function is compiled, found " +
                       describe(operand))
          .help("use '~' for tensors");
    std::optional<bool> holds = truth(operand, range, "'not'");
    return holds ? Value::ofBool(!*holds) : Value::error();
  }
  if (operand.isTensor()) {
    if (op == UnaryOp::Plus)
      return operand;
    return emitter->map(op == UnaryOp::Negate ? ScalarOp::Neg : ScalarOp::Not, {operand}, {range});
  }
  bool isInt = operand.is(Value::Int) || operand.is(Value::Bool);
  switch (op) {
  case UnaryOp::Plus:
    if (isInt)
      return Value::ofInt(operand.number);
    if (operand.is(Value::Float))
      return operand;
    break;
  case UnaryOp::Negate:
    if (isInt)
      return intBinary(BinaryOp::Sub, SymExpr(0), operand.number, range);
    if (operand.is(Value::Float))
      return Value::ofFloat(-operand.real);
    break;
  default:
    if (isInt)
      return intBinary(BinaryOp::Sub, SymExpr(-1), operand.number, range);
    break;
  }
  return error(range, "operator '" + std::string(spelling(op)) + "' needs a number, found " +
                          describe(operand));
}

//===------------------------------------------------------------------------------------------===//
// Binary
//===------------------------------------------------------------------------------------------===//

static ScalarOp scalarOpOf(BinaryOp op) {
  switch (op) {
  case BinaryOp::Add:
    return ScalarOp::Add;
  case BinaryOp::Sub:
    return ScalarOp::Sub;
  case BinaryOp::Div:
    return ScalarOp::Div;
  case BinaryOp::FloorDiv:
    return ScalarOp::FloorDiv;
  case BinaryOp::Mod:
    return ScalarOp::Remainder;
  case BinaryOp::Pow:
    return ScalarOp::Pow;
  case BinaryOp::LeftShift:
    return ScalarOp::Shl;
  case BinaryOp::RightShift:
    return ScalarOp::Shr;
  case BinaryOp::And:
    return ScalarOp::And;
  case BinaryOp::Or:
    return ScalarOp::Or;
  case BinaryOp::Xor:
    return ScalarOp::Xor;
  default:
    return ScalarOp::Mul;
  }
}

/// An error about the operation points at the operator, with both operands underlined.
Value Interpreter::binary(BinaryOp op, const Value &left, const Value &right, const Expr *leftExpr,
                          const Expr *rightExpr, SourceRange range, SourceRange opRange) {
  if (left.isError() || right.isError())
    return Value::error();
  size_t errors = diagnostics.errorCount();
  SourceRange place = opRange.isValid() ? opRange : range;
  Value result = applyBinary(op, left, right, leftExpr, rightExpr, place);
  auto isInt = [](const Value &v) { return v.is(Value::Int) || v.is(Value::Bool); };
  if (op == BinaryOp::Div && isInt(left) && isInt(right))
    result.division = opRange;
  if (Diagnostic *report = diagnostics.last();
      result.isError() && diagnostics.errorCount() != errors && report->range == place) {
    if (report->highlights.empty())
      report->highlight(leftExpr->range).highlight(rightExpr->range);
    hintOperator(*report, op, left, right, leftExpr, rightExpr);
  }
  return result;
}

Value Interpreter::applyBinary(BinaryOp op, const Value &left, const Value &right,
                               const Expr *leftExpr, const Expr *rightExpr, SourceRange range) {
  SourceRange leftRange = leftExpr->range, rightRange = rightExpr->range;
  auto isOperand = [](const Value &value) { return value.isTensor() || value.isNumber(); };
  bool anyTensor = left.isTensor() || right.isTensor();
  // A symbolic integer in floating-point arithmetic is computed at run time.
  auto isInt = [](const Value &v) { return v.is(Value::Int) || v.is(Value::Bool); };
  bool symbolicFloat = left.isNumber() && right.isNumber() &&
                       !(left.isStaticNumber() && right.isStaticNumber()) &&
                       (!isInt(left) || !isInt(right) || op == BinaryOp::Div);
  if (!anyTensor && !symbolicFloat)
    return staticBinary(op, left, right, range);
  if (!isOperand(left) || !isOperand(right))
    return error(range, "operator '" + std::string(spelling(op)) + "' needs tensors or numbers, " +
                            "found " + describe(left) + " and " + describe(right));
  if (op == BinaryOp::MatMul)
    return emitter->matmul(left, right, leftRange, rightRange);
  if (op == BinaryOp::Pow && right.isStaticNumber() && left.isTensor()) {
    // The exponents that PyTorch computes without a power.
    double exponent = right.asDouble();
    bool isFloat = Emitter::isFloat(Emitter::dtype(left));
    if (exponent == 1)
      return left;
    if (exponent == 2)
      return emitter->map(ScalarOp::Square, {left}, {leftRange});
    if (exponent == 3) {
      Value square = emitter->map(ScalarOp::Square, {left}, {leftRange});
      return square.isError() ? square : emitter->map(ScalarOp::Mul, {square, left});
    }
    if (isFloat && exponent == 0.5)
      return emitter->map(ScalarOp::Sqrt, {left}, {leftRange});
    if (isFloat && exponent == -0.5)
      return emitter->map(ScalarOp::Rsqrt, {left}, {leftRange});
    if (isFloat && exponent == -1)
      return emitter->map(ScalarOp::Reciprocal, {left}, {leftRange});
    if (!isFloat && exponent < 0 && right.is(Value::Int))
      return error(range, "integers to a negative integer power are not supported")
          .help("convert with .to(fp32) first");
  }
  return emitter->map(scalarOpOf(op), {left, right}, {leftRange, rightRange});
}

Value Interpreter::staticBinary(BinaryOp op, const Value &left, const Value &right,
                                SourceRange range) {
  bool numbers = left.isNumber() && right.isNumber();
  if (numbers && (left.is(Value::Float) || right.is(Value::Float)))
    return floatBinary(op, left.asDouble(), right.asDouble(), range);
  if (numbers) {
    Value result = intBinary(op, left.number, right.number, range);
    bool bitwise = op == BinaryOp::And || op == BinaryOp::Or || op == BinaryOp::Xor;
    if (bitwise && left.is(Value::Bool) && right.is(Value::Bool) && result.is(Value::Int))
      return Value::ofBool(!result.number.isConstant(0));
    return result;
  }
  if (op == BinaryOp::Add && left.kind == right.kind) {
    if (left.is(Value::Str)) {
      if (left.text->size() + right.text->size() > maxElements)
        return error(range, "the string is too long");
      return Value::ofStr(*left.text + *right.text);
    }
    if (left.isSequence()) {
      std::vector<Value> joined = *left.elements;
      joined.insert(joined.end(), right.elements->begin(), right.elements->end());
      if (joined.size() > maxElements || !spend(range, joined.size()))
        return exhausted ? Value::error() : Value(error(range, "the tuple has too many elements"));
      return Value::ofList(left.kind, std::move(joined));
    }
  }
  bool leftCounts = left.is(Value::Int) && (right.isSequence() || right.is(Value::Str));
  bool rightCounts = right.is(Value::Int) && (left.isSequence() || left.is(Value::Str));
  if (op == BinaryOp::Mul && (leftCounts || rightCounts)) {
    const Value &sequence = leftCounts ? right : left;
    std::optional<int64_t> count = fix(leftCounts ? left.number : right.number, range);
    if (!count)
      return Value::error();
    size_t size = sequence.is(Value::Str) ? sequence.text->size() : sequence.elements->size();
    if (*count > 0 && (*count > int64_t(maxElements) || size * *count > maxElements))
      return error(range, "the result has too many elements");
    if (!spend(range, size * std::max<int64_t>(*count, 0)))
      return Value::error();
    std::string text;
    std::vector<Value> items;
    for (int64_t i = 0; i < *count; ++i) {
      if (sequence.is(Value::Str))
        text += *sequence.text;
      else
        items.insert(items.end(), sequence.elements->begin(), sequence.elements->end());
    }
    return sequence.is(Value::Str) ? Value::ofStr(text)
                                   : Value::ofList(sequence.kind, std::move(items));
  }
  return error(range, "operator '" + std::string(spelling(op)) + "' is not defined for " +
                          describe(left) + " and " + describe(right));
}

static int64_t floorDivide(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

/// Exact integer power; nothing on overflow.
static std::optional<int64_t> power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  for (;;) {
    if ((exponent & 1) && __builtin_mul_overflow(result, base, &result))
      return std::nullopt;
    exponent >>= 1;
    if (exponent == 0)
      return result;
    if (__builtin_mul_overflow(base, base, &base))
      return std::nullopt;
  }
}

Value Interpreter::intBinary(BinaryOp op, SymExpr left, SymExpr right, SourceRange range) {
  if (!left.isConstant() || !right.isConstant()) {
    if (left.str().size() > maxSizeText || right.str().size() > maxSizeText)
      return error(range, "the size expression is too complex");
    bool divides = op == BinaryOp::FloorDiv || op == BinaryOp::Mod;
    if (divides && right.isConstant(0))
      return error(range, "division by zero");
    switch (op) {
    case BinaryOp::Add:
      return Value::ofInt(left + right);
    case BinaryOp::Sub:
      return Value::ofInt(left - right);
    case BinaryOp::Mul:
      return Value::ofInt(left * right);
    case BinaryOp::FloorDiv:
    case BinaryOp::Mod:
      // A divisor that may be zero must be known.
      if (!right.isConstant() && !sizes.provablyNonNegative(right - SymExpr(1)))
        break;
      return Value::ofInt(op == BinaryOp::Mod ? left.mod(right) : left.floorDiv(right));
    case BinaryOp::Pow:
      if (right.isConstant() && right.constantValue() >= 0 && right.constantValue() <= 4) {
        SymExpr result(1);
        for (int64_t i = 0; i < right.constantValue(); ++i)
          result = result * left;
        return Value::ofInt(result);
      }
      break;
    default:
      break;
    }
  }
  std::optional<int64_t> leftValue = fix(left, range), rightValue = fix(right, range);
  if (!leftValue || !rightValue)
    return Value::error();
  int64_t a = *leftValue, b = *rightValue, result = 0;
  bool overflow = false;
  switch (op) {
  case BinaryOp::Add:
    overflow = __builtin_add_overflow(a, b, &result);
    break;
  case BinaryOp::Sub:
    overflow = __builtin_sub_overflow(a, b, &result);
    break;
  case BinaryOp::Mul:
    overflow = __builtin_mul_overflow(a, b, &result);
    break;
  case BinaryOp::Div:
    if (b == 0)
      return error(range, "division by zero");
    return Value::ofFloat(double(a) / double(b));
  case BinaryOp::FloorDiv:
  case BinaryOp::Mod:
    if (b == 0)
      return error(range, "division by zero");
    if (b == -1) {
      if (op == BinaryOp::FloorDiv)
        overflow = __builtin_sub_overflow(int64_t(0), a, &result);
      break;
    }
    result = op == BinaryOp::FloorDiv ? floorDivide(a, b) : a - floorDivide(a, b) * b;
    break;
  case BinaryOp::Pow: {
    if (b < 0) {
      if (a == 0)
        return error(range, "division by zero");
      return Value::ofFloat(std::pow(double(a), double(b)));
    }
    std::optional<int64_t> value = power(a, b);
    overflow = !value;
    result = value.value_or(0);
    break;
  }
  case BinaryOp::LeftShift:
  case BinaryOp::RightShift:
    if (b < 0)
      return error(range, "negative shift count");
    if (op == BinaryOp::RightShift)
      result = a >> std::min<int64_t>(b, 63);
    else
      overflow = a != 0 && (b > 62 || __builtin_mul_overflow(a, int64_t(1) << b, &result));
    break;
  case BinaryOp::And:
    result = a & b;
    break;
  case BinaryOp::Or:
    result = a | b;
    break;
  case BinaryOp::Xor:
    result = a ^ b;
    break;
  case BinaryOp::MatMul:
    return error(range, "operator '@' needs tensors, found two ints");
  }
  if (overflow)
    return error(range, "the integer does not fit in 64 bits");
  return Value::ofInt(SymExpr(result));
}

Value Interpreter::floatBinary(BinaryOp op, double left, double right, SourceRange range) {
  switch (op) {
  case BinaryOp::Add:
    return Value::ofFloat(left + right);
  case BinaryOp::Sub:
    return Value::ofFloat(left - right);
  case BinaryOp::Mul:
    return Value::ofFloat(left * right);
  case BinaryOp::Div:
  case BinaryOp::FloorDiv:
  case BinaryOp::Mod: {
    if (right == 0)
      return error(range, "division by zero");
    if (op == BinaryOp::Div)
      return Value::ofFloat(left / right);
    double remainder = std::fmod(left, right);
    if (remainder != 0 && (remainder < 0) != (right < 0))
      remainder += right;
    if (op == BinaryOp::Mod)
      return Value::ofFloat(remainder != 0 ? remainder : std::copysign(0.0, right));
    double quotient = (left - remainder) / right;
    double rounded = std::floor(quotient);
    return Value::ofFloat(quotient - rounded > 0.5 ? rounded + 1 : rounded);
  }
  case BinaryOp::Pow:
    if (left == 0 && right < 0)
      return error(range, "division by zero");
    if (left < 0 && right != std::floor(right) && std::isfinite(right) && std::isfinite(left))
      return error(range, "the power of a negative float to a fraction is complex");
    return Value::ofFloat(std::pow(left, right));
  default:
    return error(range, "operator '" + std::string(spelling(op)) + "' is not defined for floats");
  }
}

//===------------------------------------------------------------------------------------------===//
// Comparison
//===------------------------------------------------------------------------------------------===//

Value Interpreter::compare(CompareOp op, const Value &left, const Value &right, SourceRange range,
                           SourceRange leftRange, SourceRange rightRange) {
  if (left.isError() || right.isError())
    return Value::error();
  bool identity = op == CompareOp::Is || op == CompareOp::IsNot;
  bool membership = op == CompareOp::In || op == CompareOp::NotIn;
  if (identity) {
    if (left.is(Value::None) || right.is(Value::None))
      return Value::ofBool((left.kind == right.kind) == (op == CompareOp::Is));
    if (left.isTensor() || right.isTensor())
      return error(range, "'" + std::string(spelling(op)) + "' compares with None only")
          .help(op == CompareOp::Is ? "use '==' to compare elements"
                                    : "use '!=' to compare elements");
  }
  if (membership) {
    if (left.isTensor() || right.isTensor())
      return error(range, "'" + std::string(spelling(op)) + "' is not defined for tensors")
          .help("use tsr.any(x == value)");
    std::optional<std::vector<Value>> items = toSequence(right, rightRange, "the container");
    if (!items)
      return Value::error();
    for (const Value &item : *items) {
      std::optional<bool> same = staticEqual(left, item, range);
      if (!same)
        return Value::error();
      if (*same)
        return Value::ofBool(op == CompareOp::In);
    }
    return Value::ofBool(op == CompareOp::NotIn);
  }
  if (!left.isTensor() && !right.isTensor())
    return staticCompare(op, left, right, range);

  auto isOperand = [](const Value &value) { return value.isTensor() || value.isNumber(); };
  if (!isOperand(left) || !isOperand(right)) {
    // `x == None` has a static result; other pairs are errors.
    if (op == CompareOp::Eq || op == CompareOp::Ne)
      return Value::ofBool(op == CompareOp::Ne);
    return error(range, "cannot compare " + describe(left) + " with " + describe(right));
  }
  static constexpr ScalarOp ops[] = {ScalarOp::Eq, ScalarOp::Ne, ScalarOp::Lt,
                                     ScalarOp::Le, ScalarOp::Gt, ScalarOp::Ge};
  return emitter->map(ops[unsigned(op)], {left, right}, {leftRange, rightRange});
}

/// Python's `==` between known values. Sizes with different expressions are compared by value,
/// which becomes a guard.
std::optional<bool> Interpreter::staticEqual(const Value &left, const Value &right,
                                             SourceRange range) {
  if (!spend(range))
    return std::nullopt;
  if (left.isTensor() || right.isTensor()) {
    error(range, "tensors inside tuples cannot be compared");
    return std::nullopt;
  }
  if (left.isNumber() && right.isNumber()) {
    if (left.is(Value::Float) || right.is(Value::Float)) {
      std::optional<double> a = toDouble(left, range, "the comparison");
      std::optional<double> b = toDouble(right, range, "the comparison");
      return a && b ? std::optional(*a == *b) : std::nullopt;
    }
    SymExpr difference = left.number - right.number;
    if (difference.isConstant())
      return difference.constantValue() == 0;
    if (sizes.provablyNonNegative(difference - SymExpr(1)) ||
        sizes.provablyNonNegative(SymExpr(-1) - difference))
      return false;
    std::optional<int64_t> a = sizes.valueAtHand(left.number);
    std::optional<int64_t> b = sizes.valueAtHand(right.number);
    bool symbolic = !left.number.isConstant() && !right.number.isConstant();
    if (symbolic && a && b && *a == *b && sizes.unify(left.number, right.number, range))
      return true;
    a = fix(left.number, range);
    b = fix(right.number, range);
    return a && b ? std::optional(*a == *b) : std::nullopt;
  }
  if (left.isSequence() && left.kind == right.kind) {
    if (left.elements == right.elements)
      return true;
    if (left.elements->size() != right.elements->size())
      return false;
    for (size_t i = 0; i < left.elements->size(); ++i) {
      std::optional<bool> same = staticEqual((*left.elements)[i], (*right.elements)[i], range);
      if (!same || !*same)
        return same;
    }
    return true;
  }
  if (left.kind != right.kind)
    return false;
  switch (left.kind) {
  case Value::Str:
    return *left.text == *right.text;
  case Value::DType:
    return left.dtype == right.dtype;
  case Value::None:
  case Value::Ellipsis:
    return true;
  case Value::Function:
    return left.function == right.function;
  case Value::Builtin:
    return left.builtin == right.builtin;
  default:
    return left.text && right.text && *left.text == *right.text;
  }
}

Value Interpreter::staticCompare(CompareOp op, const Value &left, const Value &right,
                                 SourceRange range) {
  if (op == CompareOp::Eq || op == CompareOp::Ne || op == CompareOp::Is || op == CompareOp::IsNot) {
    std::optional<bool> same = staticEqual(left, right, range);
    bool wanted = op == CompareOp::Eq || op == CompareOp::Is;
    return same ? Value::ofBool(*same == wanted) : Value::error();
  }
  auto decide = [&](auto a, auto b) {
    switch (op) {
    case CompareOp::Lt:
      return Value::ofBool(a < b);
    case CompareOp::Le:
      return Value::ofBool(a <= b);
    case CompareOp::Gt:
      return Value::ofBool(a > b);
    default:
      return Value::ofBool(a >= b);
    }
  };
  if (left.is(Value::Str) && right.is(Value::Str))
    return decide(*left.text, *right.text);
  if (!left.isNumber() || !right.isNumber())
    return error(range, "cannot compare " + describe(left) + " with " + describe(right));
  if (left.is(Value::Float) || right.is(Value::Float)) {
    std::optional<double> a = toDouble(left, range, "the comparison");
    std::optional<double> b = toDouble(right, range, "the comparison");
    return a && b ? decide(*a, *b) : Value::error();
  }
  // Some comparisons hold for all sizes and need no guard.
  SymExpr difference = left.number - right.number;
  if (difference.isConstant())
    return decide(difference.constantValue(), int64_t(0));
  bool isLess = op == CompareOp::Lt || op == CompareOp::Le;
  bool orEqual = op == CompareOp::Le || op == CompareOp::Ge;
  SymExpr ahead = isLess ? SymExpr(0) - difference : difference;
  if (sizes.provablyNonNegative(orEqual ? ahead : ahead - SymExpr(1)))
    return Value::ofBool(true);
  if (sizes.provablyNonNegative((orEqual ? SymExpr(-1) : SymExpr(0)) - ahead))
    return Value::ofBool(false);
  std::optional<int64_t> a = fix(left.number, range), b = fix(right.number, range);
  return a && b ? decide(*a, *b) : Value::error();
}
