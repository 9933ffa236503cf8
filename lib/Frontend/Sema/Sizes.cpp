//===- Sizes.cpp - Equality, order and values of symbolic sizes -------------------------------===//
#include "Sizes.h"

#include <algorithm>
#include <cctype>
#include <limits>

using namespace tessera;
using namespace tessera::sema;

SymExpr Assumptions::apply(SymExpr e) const {
  if (bindings.empty() || e.isConstant())
    return e;
  return e.substitute([&](const std::string &name) -> std::optional<SymExpr> {
    auto it = bindings.find(name);
    return it == bindings.end() ? std::nullopt : std::optional(it->second.value);
  });
}

void Assumptions::bind(const std::string &symbol, SymExpr value, SourceRange reason) {
  auto one = [&](const std::string &name) {
    return name == symbol ? std::optional(value) : std::nullopt;
  };
  for (auto &[name, binding] : bindings)
    binding.value = binding.value.substitute(one);
  bindings[symbol] = {value, reason};
  order.push_back(symbol);
}

SymExpr Sizes::declare(Symbol symbol) {
  std::string name = symbol.info.name;
  auto [it, isNew] = index.try_emplace(name, symbols.size());
  if (isNew)
    symbols.push_back(std::move(symbol));
  return assumptions.apply(SymExpr::symbol(name));
}

Sizes::Symbol *Sizes::find(const std::string &name) {
  auto it = index.find(name);
  return it == index.end() ? nullptr : &symbols[it->second];
}

static bool isWordChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80);
}
static bool isDigitChar(char c) { return c >= '0' && c <= '9'; }

namespace {
/// Finds size expressions in a message, by the grammar of SymExpr::str.
class ExpressionScan {
public:
  explicit ExpressionScan(std::string_view text) : text(text) {}

  /// One past the expression that starts here; `at` itself if there is none.
  size_t sum(size_t at) {
    size_t end = product(starts(at, "-") ? at + 1 : at);
    while (starts(end, " + ") || starts(end, " - ")) {
      size_t next = product(end + 3);
      if (next == end + 3)
        break;
      end = next;
    }
    return end > at + 1 || (end > at && isWordChar(text[at])) ? end : at;
  }

private:
  bool starts(size_t at, std::string_view token) const {
    return at < text.size() && text.substr(at).starts_with(token);
  }

  size_t product(size_t at) {
    size_t end = factor(at);
    while (end > at && starts(end, "*")) {
      size_t next = factor(end + 1);
      if (next == end + 1)
        break;
      end = next;
    }
    return end;
  }

  /// A number, a name, the dimension of a name (`x.1`), or a call.
  size_t factor(size_t at) {
    size_t end = at;
    while (end < text.size() && isWordChar(text[end]))
      ++end;
    if (end == at)
      return at;
    if (starts(end, "(")) {
      size_t close = arguments(end + 1);
      return close > end + 1 ? close : end;
    }
    size_t last = end + 1;
    while (last < text.size() && isDigitChar(text[last]))
      ++last;
    bool isDim = !isDigitChar(text[at]) && starts(end, ".") && last > end + 1;
    return isDim ? last : end;
  }

  /// One past `a, b)`; `at` if it is not here.
  size_t arguments(size_t at) {
    // Messages also quote the user's text, which may be nested to any depth.
    if (depth == 32)
      return at;
    ++depth;
    size_t begin = at, end = sum(begin);
    while (end > begin && starts(end, ", ")) {
      begin = end + 2;
      end = sum(begin);
    }
    --depth;
    return end > begin && starts(end, ")") ? end + 1 : at;
  }

  std::string_view text;
  unsigned depth = 0;
};
} // namespace

std::optional<SymExpr> Sizes::expressionIn(std::string_view text) const {
  bool hasSymbols = false;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && (isWordChar(text[end]) || text[end] == '.'))
      ++end;
    bool isName = end > at && !isDigitChar(text[at]) && (end == text.size() || text[end] != '(');
    if (isName && !index.count(std::string(text.substr(at, end - at))))
      return std::nullopt;
    hasSymbols |= isName;
    at = end + 1;
  }
  return hasSymbols ? SymExpr::parse(text) : std::nullopt;
}

/// Replaces unnamed symbols by names that the user knows.
std::string Sizes::withoutOwnNames(std::string_view text) const {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t begin = at, end = at;
    while (end < text.size() && isWordChar(text[end]))
      ++end;
    size_t last = end + 1;
    while (last < text.size() && isDigitChar(text[last]))
      ++last;
    bool word = end > begin && !isDigitChar(text[begin]) && (begin == 0 || text[begin - 1] != '.');
    bool numbered = word && end < text.size() && text[end] == '.' && last > end + 1;
    auto it = numbered ? index.find(std::string(text.substr(begin, last - begin))) : index.end();
    if (it == index.end()) {
      at = std::max(end, begin + 1);
      out += text.substr(begin, at - begin);
      continue;
    }
    std::string dim(text.substr(end + 1, last - end - 1)), base(text.substr(begin, end - begin));
    out += symbols[it->second].named ? base + "[" + dim + "]" : base + ".shape[" + dim + "]";
    at = last;
  }
  return out;
}

std::string Sizes::readable(std::string_view text) const {
  auto unnamedAtHand = [&](const std::string &name) -> std::optional<SymExpr> {
    const Symbol &symbol = symbols[index.at(name)];
    return symbol.named || !symbol.info.size ? std::nullopt
                                             : std::optional(SymExpr(*symbol.info.size));
  };
  std::string out;
  for (size_t at = 0; at < text.size();) {
    bool isInside = at > 0 && (isWordChar(text[at - 1]) || text[at - 1] == '.');
    size_t end = isInside ? at : ExpressionScan(text).sum(at);
    std::optional<SymExpr> expr = expressionIn(text.substr(at, end - at));
    if (!expr) {
      // A word of prose, or a character between words.
      end = at + 1;
      while (isWordChar(text[at]) && end < text.size() && isWordChar(text[end]))
        ++end;
      out += text.substr(at, end - at);
      at = end;
      continue;
    }
    SymExpr known = expr->substitute(unnamedAtHand);
    out += withoutOwnNames(known.str());
    bool isQuoted = at > 0 && text[at - 1] == '\'' && end < text.size() && text[end] == '\'';
    std::optional<int64_t> value = valueAtHand(known);
    at = end;
    if (isQuoted && value && !known.isConstant() && !known.isSymbol()) {
      out += "' (" + std::to_string(*value) + " in this call)";
      ++at;
    }
  }
  return out;
}

std::optional<int64_t> Sizes::valueAtHand(SymExpr e) const {
  return e.evaluate([&](const std::string &name) -> std::optional<int64_t> {
    auto it = index.find(name);
    return it == index.end() ? std::nullopt : symbols[it->second].info.size;
  });
}

void Sizes::bind(const std::string &symbol, SymExpr value, SourceRange reason) {
  assumptions.bind(symbol, assumptions.apply(value), reason);
  newBindings = true;
}

void Sizes::guard(SymExpr left, SymExpr right, SourceRange reason) {
  left = assumptions.apply(left);
  right = assumptions.apply(right);
  if (left == right)
    return;
  for (const Guard &guard : expressionGuards)
    if (guard.left == left && guard.right == right)
      return;
  expressionGuards.push_back({left, right, reason});
}

std::optional<int64_t> Sizes::fix(SymExpr e, SourceRange reason) {
  e = assumptions.apply(e);
  std::optional<int64_t> value = valueAtHand(e);
  if (!value)
    return std::nullopt;
  std::set<std::string> names;
  e.collectSymbols(names);
  for (const std::string &name : names)
    bind(name, SymExpr(*find(name)->info.size), reason);
  return value;
}

/// Binds an unnamed symbol that occurs linearly so that `difference` becomes zero, if there is one.
bool Sizes::solve(SymExpr difference, SourceRange reason) {
  std::set<std::string> names;
  difference.collectSymbols(names);
  // The symbol that was declared last is bound: messages and types keep the first one's name.
  std::vector<std::string> ordered(names.begin(), names.end());
  std::sort(ordered.begin(), ordered.end(),
            [&](const std::string &a, const std::string &b) { return index[a] > index[b]; });
  for (const std::string &name : ordered) {
    if (find(name)->named)
      continue;
    SymExpr rest = difference.substitute([&](const std::string &other) {
      return other == name ? std::optional(SymExpr(0)) : std::nullopt;
    });
    SymExpr part = difference - rest;
    SymExpr symbol = SymExpr::symbol(name);
    if (part == symbol)
      rest = SymExpr(0) - rest;
    else if (part + symbol != SymExpr(0))
      continue;
    bind(name, rest, reason);
    return true;
  }
  return false;
}

namespace {

/// A size as a fraction of polynomials, in which exact quotients are not rounded.
struct Fraction {
  SymExpr numerator;
  SymExpr denominator = SymExpr(1);
};

/// Collects in `assumed` the remainders that must be zero and are not known to be.
class FractionBuilder {
public:
  explicit FractionBuilder(const Sizes &sizes) : sizes(sizes) {}

  Fraction build(SymExpr e) {
    switch (e.kind()) {
    case SymExpr::Kind::Add:
    case SymExpr::Kind::Mul: {
      bool isAdd = e.kind() == SymExpr::Kind::Add;
      Fraction result{SymExpr(isAdd ? 0 : 1)};
      for (SymExpr operand : e.operands()) {
        Fraction part = build(operand);
        if (isAdd)
          result.numerator =
              result.numerator * part.denominator + part.numerator * result.denominator;
        else
          result.numerator = result.numerator * part.numerator;
        result.denominator = result.denominator * part.denominator;
      }
      return result;
    }
    case SymExpr::Kind::FloorDiv:
    case SymExpr::Kind::CeilDiv: {
      SymExpr dividend = e.operands()[0], divisor = e.operands()[1];
      SymExpr remainder = dividend.mod(divisor);
      if (sizes.valueAtHand(remainder) != 0)
        return {e};
      bool known = divisor.isConstant() && divisor.constantValue() > 0 &&
                   sizes.knownDivisor(dividend) % divisor.constantValue() == 0;
      if (!known && !remainder.isConstant(0))
        assumed.push_back(remainder);
      Fraction inner = build(dividend);
      return {inner.numerator, inner.denominator * divisor};
    }
    default:
      return {e};
    }
  }

  std::vector<SymExpr> assumed;

private:
  const Sizes &sizes;
};

} // namespace

int64_t Sizes::knownDivisor(SymExpr e) const {
  return e.divisor([&](const std::string &name) {
    auto it = index.find(name);
    return it == index.end() ? 1 : symbols[it->second].info.divisor;
  });
}

/// Divides two products by their common factors.
static std::pair<SymExpr, SymExpr> withoutCommonFactors(SymExpr a, SymExpr b) {
  auto factors = [](SymExpr e) -> std::vector<SymExpr> {
    if (e.kind() != SymExpr::Kind::Mul)
      return {e};
    return {e.operands().begin(), e.operands().end()};
  };
  std::vector<SymExpr> rest = factors(b);
  std::pair<SymExpr, SymExpr> result(1, 1);
  for (SymExpr factor : factors(a)) {
    auto same = std::find(rest.begin(), rest.end(), factor);
    if (same == rest.end())
      result.first = result.first * factor;
    else
      rest.erase(same);
  }
  for (SymExpr factor : rest)
    result.second = result.second * factor;
  return result;
}

/// `A * C` equals `B * C` if A equals B.
bool Sizes::equalByFactors(SymExpr a, SymExpr b, SourceRange reason) {
  if (a == b)
    return true;
  auto [left, right] = withoutCommonFactors(a, b);
  if (left == a || valueAtHand(left) != valueAtHand(right))
    return false;
  return solve(left - right, reason);
}

/// `4 * floordiv(E, 4)` equals `E` if 4 divides E, as a fact or by a guard.
bool Sizes::equalByExactDivision(SymExpr a, SymExpr b, SourceRange reason) {
  FractionBuilder builder(*this);
  Fraction left = builder.build(a), right = builder.build(b);
  if (left.denominator.isConstant(1) && right.denominator.isConstant(1))
    return false;
  if (!equalByFactors(left.numerator * right.denominator, right.numerator * left.denominator,
                      reason))
    return false;
  for (SymExpr remainder : builder.assumed)
    guard(remainder, SymExpr(0), reason);
  return true;
}

bool Sizes::unify(SymExpr a, SymExpr b, SourceRange reason) {
  a = assumptions.apply(a);
  b = assumptions.apply(b);
  return a == b || equalByExactDivision(a, b, reason) || solve(a - b, reason) ||
         equalByFactors(a, b, reason);
}

bool Sizes::equal(SymExpr a, SymExpr b, SourceRange reason) {
  if (a == b)
    return true;
  a = assumptions.apply(a);
  b = assumptions.apply(b);
  if (a == b)
    return true;
  std::optional<int64_t> left = valueAtHand(a), right = valueAtHand(b);
  if (left && right && *left != *right)
    return false;
  if (a.isConstant() && b.isConstant())
    return false;
  if (unify(a, b, reason))
    return true;
  // Different names are never assumed equal, even if their concrete values are.
  std::set<std::string> inA, inB;
  a.collectSymbols(inA);
  b.collectSymbols(inB);
  bool onlyA = !std::includes(inB.begin(), inB.end(), inA.begin(), inA.end());
  bool onlyB = !std::includes(inA.begin(), inA.end(), inB.begin(), inB.end());
  if (onlyA && onlyB)
    return false;
  return left && right && fix(a, reason) && fix(b, reason);
}

//===------------------------------------------------------------------------------------------===//
// Order
//===------------------------------------------------------------------------------------------===//

std::optional<int64_t> Sizes::lowerBound(SymExpr e) const {
  switch (e.kind()) {
  case SymExpr::Kind::Constant:
    return e.constantValue();
  case SymExpr::Kind::Symbol: {
    auto it = index.find(e.symbolName());
    if (it == index.end() || symbols[it->second].info.min == std::numeric_limits<int64_t>::min())
      return std::nullopt;
    return symbols[it->second].info.min;
  }
  case SymExpr::Kind::Add:
  case SymExpr::Kind::Mul: {
    bool isAdd = e.kind() == SymExpr::Kind::Add;
    int64_t result = isAdd ? 0 : 1;
    for (SymExpr operand : e.operands()) {
      std::optional<int64_t> bound = lowerBound(operand);
      if (!bound || (!isAdd && *bound < 0))
        return std::nullopt;
      if (isAdd ? __builtin_add_overflow(result, *bound, &result)
                : __builtin_mul_overflow(result, *bound, &result))
        return std::nullopt;
    }
    return result;
  }
  case SymExpr::Kind::FloorDiv:
  case SymExpr::Kind::CeilDiv: {
    std::optional<int64_t> bound = lowerBound(e.operands()[0]);
    SymExpr divisor = e.operands()[1];
    if (!bound || *bound < 0 || lowerBound(divisor).value_or(0) < 1)
      return std::nullopt;
    return divisor.isConstant() ? *bound / divisor.constantValue() : 0;
  }
  case SymExpr::Kind::Mod:
    return lowerBound(e.operands()[1]).value_or(0) > 0 ? std::optional<int64_t>(0) : std::nullopt;
  case SymExpr::Kind::Min: {
    std::optional<int64_t> a = lowerBound(e.operands()[0]), b = lowerBound(e.operands()[1]);
    return a && b ? std::optional(std::min(*a, *b)) : std::nullopt;
  }
  case SymExpr::Kind::Max: {
    std::optional<int64_t> a = lowerBound(e.operands()[0]), b = lowerBound(e.operands()[1]);
    return a && b ? std::optional(std::max(*a, *b)) : a ? a : b;
  }
  }
  return std::nullopt;
}

/// A term of a sum as coefficient and atom; the atom is empty for other forms of terms.
static std::pair<int64_t, std::optional<SymExpr>> coefficientAndAtom(SymExpr term) {
  if (term.kind() != SymExpr::Kind::Mul)
    return {1, term};
  if (term.operands().size() == 2 && term.operands()[0].isConstant())
    return {term.operands()[0].constantValue(), term.operands()[1]};
  return {0, std::nullopt};
}

bool Sizes::provablyNonNegative(SymExpr e, unsigned depth) const {
  if (std::optional<int64_t> bound = lowerBound(e); bound && *bound >= 0)
    return true;
  if (depth == 4 || e.isConstant())
    return false;
  // Replaces one subtracted quotient, minimum or remainder by an upper bound.
  std::vector<SymExpr> terms = {e};
  if (e.kind() == SymExpr::Kind::Add)
    terms = e.operands();
  for (SymExpr term : terms) {
    auto [coefficient, atom] = coefficientAndAtom(term);
    if (coefficient >= 0 || !atom)
      continue;
    SymExpr rest = e - term;
    if (atom->kind() == SymExpr::Kind::FloorDiv && atom->operands()[1].isConstant() &&
        atom->operands()[1].constantValue() > 0) {
      // k * floordiv(x, k) <= x
      SymExpr scaled = rest * atom->operands()[1] + atom->operands()[0] * SymExpr(coefficient);
      if (provablyNonNegative(scaled, depth + 1))
        return true;
    } else if (atom->kind() == SymExpr::Kind::Min) {
      for (SymExpr operand : atom->operands())
        if (provablyNonNegative(rest + operand * SymExpr(coefficient), depth + 1))
          return true;
    } else if (atom->kind() == SymExpr::Kind::Mod && atom->operands()[1].isConstant()) {
      SymExpr most = atom->operands()[1] - SymExpr(1);
      if (provablyNonNegative(rest + most * SymExpr(coefficient), depth + 1))
        return true;
    }
  }
  return false;
}

std::optional<bool> Sizes::nonNegative(SymExpr e, SourceRange reason) {
  e = assumptions.apply(e);
  if (e.isConstant())
    return e.constantValue() >= 0;
  if (provablyNonNegative(e))
    return true;
  if (provablyNonNegative(SymExpr(-1) - e))
    return false;
  std::optional<int64_t> value = valueAtHand(e);
  if (!value)
    return std::nullopt;
  if (*value >= 0)
    guard(SymExpr::min(e, SymExpr(0)), SymExpr(0), reason);
  else
    guard(SymExpr::max(e, SymExpr(-1)), SymExpr(-1), reason);
  return *value >= 0;
}
