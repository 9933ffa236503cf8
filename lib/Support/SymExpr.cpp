//===- SymExpr.cpp - Symbolic sizes ---------------------------------------===//
//
// Nodes are never freed and live in one table. An Add holds monomials in textual order; a monomial
// is a Mul whose first operand may be a constant coefficient; every other node is an atom. All
// constructors go through Polynomial, which collects equal monomials, so that canonical form needs
// no separate simplifier.
//
//===----------------------------------------------------------------------===//
#include "tessera/Support/SymExpr.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <unordered_map>

using namespace tessera;

namespace tessera::detail {
struct SymNode {
  SymExpr::Kind kind;
  int64_t value = 0;
  std::string name;
  std::vector<SymExpr> operands;
  std::string text;
};
} // namespace tessera::detail

namespace tessera {
class SymInterner {
public:
  static SymInterner &get() {
    static SymInterner *interner = new SymInterner;
    return *interner;
  }

  SymExpr make(SymExpr::Kind kind, int64_t value, std::string name, std::vector<SymExpr> operands) {
    std::string text = print(kind, value, name, operands);
    std::lock_guard<std::mutex> lock(mutex);
    auto &slot = nodes[text];
    if (!slot)
      slot.reset(new detail::SymNode{kind, value, std::move(name), std::move(operands), text});
    return SymExpr(*slot);
  }

private:
  static std::string print(SymExpr::Kind kind, int64_t value, const std::string &name,
                           const std::vector<SymExpr> &ops) {
    auto join = [&](const char *separator) {
      std::string out;
      for (SymExpr op : ops) {
        if (!out.empty())
          out += separator;
        bool wrap = kind == SymExpr::Kind::Mul && op.kind() == SymExpr::Kind::Add;
        out += wrap ? "(" + op.str() + ")" : op.str();
      }
      return out;
    };
    switch (kind) {
    case SymExpr::Kind::Constant:
      return std::to_string(value);
    case SymExpr::Kind::Symbol:
      return name;
    case SymExpr::Kind::Add: {
      std::string out = ops[0].str();
      for (size_t i = 1; i < ops.size(); ++i) {
        std::string term = ops[i].str();
        out += term[0] == '-' ? " - " + term.substr(1) : " + " + term;
      }
      return out;
    }
    case SymExpr::Kind::Mul:
      return ops[0].isConstant(-1) ? "-" + join("*").substr(3) : join("*");
    case SymExpr::Kind::FloorDiv:
      return "floordiv(" + join(", ") + ")";
    case SymExpr::Kind::CeilDiv:
      return "ceildiv(" + join(", ") + ")";
    case SymExpr::Kind::Mod:
      return "mod(" + join(", ") + ")";
    case SymExpr::Kind::Min:
      return "min(" + join(", ") + ")";
    case SymExpr::Kind::Max:
      return "max(" + join(", ") + ")";
    }
    return "";
  }

  std::mutex mutex;
  std::unordered_map<std::string, std::unique_ptr<detail::SymNode>> nodes;
};
} // namespace tessera

namespace {
SymExpr make(SymExpr::Kind kind, int64_t value, std::vector<SymExpr> operands = {}) {
  return SymInterner::get().make(kind, value, "", std::move(operands));
}

using Atoms = std::vector<SymExpr>; // sorted by text

/// An expression without a value: it overflows 64 bits, or is too long.
SymExpr overflow() { return make(SymExpr::Kind::FloorDiv, 0, {SymExpr(1), SymExpr(0)}); }

/// A sum of coefficient · product of atoms.
struct Polynomial {
  struct Less {
    bool operator()(const Atoms &a, const Atoms &b) const {
      return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
    }
  };
  std::map<Atoms, int64_t, Less> terms;
  bool overflows = false;

  explicit Polynomial(SymExpr e) {
    if (e.kind() == SymExpr::Kind::Add) {
      for (SymExpr term : e.operands())
        addMonomial(term);
    } else {
      addMonomial(e);
    }
  }
  Polynomial() = default;

  void add(const Atoms &atoms, int64_t coefficient) {
    int64_t &c = terms[atoms];
    overflows |= __builtin_add_overflow(c, coefficient, &c);
    if (c == 0)
      terms.erase(atoms);
  }
  void addMonomial(SymExpr e) {
    if (e.isConstant())
      return add({}, e.constantValue());
    if (e.kind() != SymExpr::Kind::Mul)
      return add({e}, 1);
    Atoms atoms = e.operands();
    int64_t coefficient = 1;
    if (atoms.front().isConstant()) {
      coefficient = atoms.front().constantValue();
      atoms.erase(atoms.begin());
    }
    add(atoms, coefficient);
  }

  SymExpr expr() const {
    if (overflows)
      return overflow();
    std::vector<SymExpr> sum;
    int64_t constant = 0;
    for (auto &[atoms, coefficient] : terms) {
      if (atoms.empty()) {
        constant = coefficient;
        continue;
      }
      std::vector<SymExpr> product(atoms);
      if (coefficient != 1)
        product.insert(product.begin(), SymExpr(coefficient));
      sum.push_back(product.size() == 1 ? product[0]
                                        : make(SymExpr::Kind::Mul, 0, std::move(product)));
    }
    if (constant != 0 || sum.empty())
      sum.push_back(SymExpr(constant));
    return sum.size() == 1 ? sum[0] : make(SymExpr::Kind::Add, 0, std::move(sum));
  }

  /// This polynomial as quotient * divisor + remainder, where the quotient consists of the terms
  /// that a monomial divides exactly; nothing if the divisor is not a monomial or is zero.
  std::optional<std::pair<Polynomial, Polynomial>> split(SymExpr divisor) const {
    Polynomial d(divisor);
    if (d.terms.size() != 1)
      return std::nullopt;
    auto &[dAtoms, dCoefficient] = *d.terms.begin();
    constexpr int64_t least = std::numeric_limits<int64_t>::min();
    std::pair<Polynomial, Polynomial> result;
    for (auto &[atoms, coefficient] : terms) {
      Atoms rest = atoms;
      bool divides =
          !(coefficient == least && dCoefficient == -1) && coefficient % dCoefficient == 0;
      for (SymExpr atom : dAtoms) {
        auto it = std::find(rest.begin(), rest.end(), atom);
        if (it == rest.end()) {
          divides = false;
          break;
        }
        rest.erase(it);
      }
      if (divides)
        result.first.add(rest, coefficient / dCoefficient);
      else
        result.second.add(atoms, coefficient);
    }
    return result;
  }
};

/// A quotient or remainder of numbers; nothing if the divisor is zero or 64 bits overflow.
std::optional<int64_t> divideNumbers(SymExpr::Kind kind, int64_t a, int64_t b) {
  if (b == 0 || (b == -1 && a == std::numeric_limits<int64_t>::min()))
    return std::nullopt;
  int64_t quotient = a / b, rest = a % b;
  bool isNegative = (a < 0) != (b < 0);
  switch (kind) {
  case SymExpr::Kind::FloorDiv:
    return quotient - (rest != 0 && isNegative);
  case SymExpr::Kind::CeilDiv:
    return quotient + (rest != 0 && !isNegative);
  default:
    return rest != 0 && isNegative ? rest + b : rest;
  }
}
} // namespace

SymExpr::SymExpr() : SymExpr(int64_t(0)) {}
SymExpr::SymExpr(int64_t value) : node(make(Kind::Constant, value).node) {}

SymExpr SymExpr::symbol(std::string_view name) {
  return SymInterner::get().make(Kind::Symbol, 0, std::string(name), {});
}

SymExpr::Kind SymExpr::kind() const { return node->kind; }
int64_t SymExpr::constantValue() const { return node->value; }
const std::string &SymExpr::symbolName() const { return node->name; }
const std::vector<SymExpr> &SymExpr::operands() const { return node->operands; }
std::string SymExpr::str() const { return node->text; }
bool SymExpr::operator<(SymExpr other) const { return node->text < other.node->text; }

SymExpr SymExpr::operator+(SymExpr other) const {
  Polynomial sum(*this);
  for (auto &[atoms, coefficient] : Polynomial(other).terms)
    sum.add(atoms, coefficient);
  return sum.expr();
}

SymExpr SymExpr::operator-(SymExpr other) const { return *this + other * SymExpr(-1); }

SymExpr SymExpr::operator*(SymExpr other) const {
  // Far more than program sizes need; a product of sums would double with each factor.
  constexpr size_t mostTerms = 1024;
  Polynomial left(*this), right(other), product;
  if (left.terms.size() * right.terms.size() > mostTerms)
    return overflow();
  for (auto &[a, ca] : left.terms)
    for (auto &[b, cb] : right.terms) {
      Atoms atoms(a);
      atoms.insert(atoms.end(), b.begin(), b.end());
      std::sort(atoms.begin(), atoms.end());
      int64_t coefficient = 0;
      product.overflows |= __builtin_mul_overflow(ca, cb, &coefficient);
      product.add(atoms, coefficient);
    }
  return product.expr();
}

/// The quotient or remainder of constants, or of an expression that is not simplified further.
static SymExpr divide(SymExpr::Kind kind, SymExpr a, SymExpr b) {
  if (a.isConstant() && b.isConstant())
    if (auto value = divideNumbers(kind, a.constantValue(), b.constantValue()))
      return SymExpr(*value);
  return a.isConstant(0) ? a : make(kind, 0, {a, b});
}

SymExpr SymExpr::floorDiv(SymExpr other) const {
  if (auto parts = Polynomial(*this).split(other))
    return parts->first.expr() + divide(Kind::FloorDiv, parts->second.expr(), other);
  return divide(Kind::FloorDiv, *this, other);
}

SymExpr SymExpr::ceilDiv(SymExpr other) const {
  if (auto parts = Polynomial(*this).split(other))
    return parts->first.expr() + divide(Kind::CeilDiv, parts->second.expr(), other);
  return divide(Kind::CeilDiv, *this, other);
}

SymExpr SymExpr::mod(SymExpr other) const {
  if (auto parts = Polynomial(*this).split(other))
    return divide(Kind::Mod, parts->second.expr(), other);
  return divide(Kind::Mod, *this, other);
}

/// A number with the sign of the expression, if that is known: constants, and the padding of a size
/// that is rounded up to a multiple.
static std::optional<int64_t> signOf(SymExpr e) {
  if (e.isConstant())
    return e.constantValue();
  if (e.kind() != SymExpr::Kind::Add)
    return std::nullopt;
  for (SymExpr term : e.operands()) {
    std::vector<SymExpr> factors{term};
    if (term.kind() == SymExpr::Kind::Mul)
      factors = {term.operands().begin(), term.operands().end()};
    for (SymExpr factor : factors) {
      if (factor.kind() != SymExpr::Kind::CeilDiv)
        continue;
      SymExpr size = factor.operands()[0], unit = factor.operands()[1], rounded = factor * unit;
      if (!unit.isConstant() || unit.constantValue() <= 0)
        continue;
      if (e == rounded - size)
        return 1;
      if (e == size - rounded)
        return -1;
    }
  }
  return std::nullopt;
}

/// Flattens nested minima (or maxima), drops operands that another one bounds, and chains the rest
/// in order.
static SymExpr extremum(SymExpr::Kind kind, SymExpr a, SymExpr b) {
  std::set<SymExpr> kept;
  std::function<void(SymExpr)> put = [&](SymExpr e) {
    if (e.kind() == kind) {
      for (SymExpr op : e.operands())
        put(op);
      return;
    }
    for (auto it = kept.begin(); it != kept.end();) {
      SymExpr difference = e - *it;
      std::optional<int64_t> side = signOf(difference);
      if (!side) {
        ++it;
        continue;
      }
      if ((*side < 0) != (kind == SymExpr::Kind::Min) || *side == 0)
        return;
      it = kept.erase(it);
    }
    kept.insert(e);
  };
  put(a);
  put(b);
  SymExpr result = *kept.begin();
  for (auto it = std::next(kept.begin()); it != kept.end(); ++it)
    result = make(kind, 0, {result, *it});
  return result;
}

bool SymExpr::isNonNegative() const {
  auto isPart = [](SymExpr e) { return e.isNonNegative(); };
  switch (kind()) {
  case Kind::Constant:
    return constantValue() >= 0;
  case Kind::Symbol:
    return true;
  case Kind::Mod: // has the sign of the divisor
    return operands()[1].isNonNegative();
  case Kind::Max:
    return std::any_of(operands().begin(), operands().end(), isPart);
  default:
    return std::all_of(operands().begin(), operands().end(), isPart);
  }
}

SymExpr SymExpr::min(SymExpr a, SymExpr b) { return extremum(Kind::Min, a, b); }
SymExpr SymExpr::max(SymExpr a, SymExpr b) { return extremum(Kind::Max, a, b); }

/// A divisor of a number that is small enough to compute with; for large numbers and zero, powers
/// of two.
static int64_t boundedDivisor(uint64_t number) {
  constexpr uint64_t most = 1 << 30;
  return number == 0 || number > most ? std::gcd(number, most) : number;
}

int64_t SymExpr::divisor(const std::function<int64_t(const std::string &)> &symbolDivisor) const {
  switch (kind()) {
  case Kind::Constant:
    return boundedDivisor(constantValue() < 0 ? -uint64_t(constantValue()) : constantValue());
  case Kind::Symbol:
    return symbolDivisor ? boundedDivisor(std::max<int64_t>(1, symbolDivisor(symbolName()))) : 1;
  case Kind::Add: {
    int64_t g = 0;
    for (SymExpr term : operands())
      g = std::gcd(g, term.divisor(symbolDivisor));
    return g;
  }
  case Kind::Mul: {
    int64_t product = 1;
    for (SymExpr factor : operands())
      product = boundedDivisor(uint64_t(product) * factor.divisor(symbolDivisor));
    return product;
  }
  case Kind::Min:
  case Kind::Max:
    return std::gcd(operands()[0].divisor(symbolDivisor), operands()[1].divisor(symbolDivisor));
  default:
    return 1;
  }
}

void SymExpr::collectSymbols(std::set<std::string> &names) const {
  if (isSymbol())
    names.insert(symbolName());
  for (SymExpr op : operands())
    op.collectSymbols(names);
}

SymExpr
SymExpr::substitute(const std::function<std::optional<SymExpr>(const std::string &)> &map) const {
  switch (kind()) {
  case Kind::Constant:
    return *this;
  case Kind::Symbol:
    return map(symbolName()).value_or(*this);
  case Kind::Add: {
    SymExpr sum;
    for (SymExpr op : operands())
      sum = sum + op.substitute(map);
    return sum;
  }
  case Kind::Mul: {
    SymExpr product(1);
    for (SymExpr op : operands())
      product = product * op.substitute(map);
    return product;
  }
  default:
    break;
  }
  SymExpr a = operands()[0].substitute(map), b = operands()[1].substitute(map);
  switch (kind()) {
  case Kind::FloorDiv:
    return a.floorDiv(b);
  case Kind::CeilDiv:
    return a.ceilDiv(b);
  case Kind::Mod:
    return a.mod(b);
  case Kind::Min:
    return min(a, b);
  default:
    return max(a, b);
  }
}

std::optional<int64_t>
SymExpr::evaluate(const std::function<std::optional<int64_t>(const std::string &)> &value) const {
  switch (kind()) {
  case Kind::Constant:
    return constantValue();
  case Kind::Symbol:
    return value(symbolName());
  case Kind::Add:
  case Kind::Mul: {
    int64_t result = kind() == Kind::Add ? 0 : 1;
    for (SymExpr op : operands()) {
      auto v = op.evaluate(value);
      if (!v)
        return std::nullopt;
      bool overflow = kind() == Kind::Add ? __builtin_add_overflow(result, *v, &result)
                                          : __builtin_mul_overflow(result, *v, &result);
      if (overflow)
        return std::nullopt;
    }
    return result;
  }
  default:
    break;
  }
  auto a = operands()[0].evaluate(value), b = operands()[1].evaluate(value);
  if (!a || !b)
    return std::nullopt;
  if (kind() == Kind::Min)
    return std::min(*a, *b);
  if (kind() == Kind::Max)
    return std::max(*a, *b);
  return divideNumbers(kind(), *a, *b);
}

namespace {
/// expression := term (('+' | '-') term)*   term := factor ('*' factor)*   factor := int | name |
/// name '(' e ',' e ')' | '(' e ')' | '-' factor
struct Parser {
  std::string_view text;
  size_t at = 0;
  int depth = 0;

  void skip() {
    while (at < text.size() && text[at] == ' ')
      ++at;
  }
  bool eat(char c) {
    skip();
    if (at >= text.size() || text[at] != c)
      return false;
    ++at;
    return true;
  }
  std::optional<SymExpr> expression() {
    if (++depth > 200)
      return std::nullopt;
    auto left = term();
    while (left) {
      // A minus sign belongs to the term.
      if (!eat('+') && (at >= text.size() || text[at] != '-'))
        break;
      auto right = term();
      if (!right)
        return std::nullopt;
      left = *left + *right;
    }
    --depth;
    return left;
  }
  std::optional<SymExpr> term() {
    auto left = factor();
    while (left && eat('*')) {
      auto right = factor();
      if (!right)
        return std::nullopt;
      left = *left * *right;
    }
    return left;
  }
  bool isDigit() const { return at < text.size() && std::isdigit((unsigned char)text[at]); }
  /// The minimum has no positive counterpart, so digits are parsed with their sign.
  std::optional<SymExpr> number(int64_t sign) {
    int64_t value = 0;
    for (; isDigit(); ++at)
      if (__builtin_mul_overflow(value, int64_t(10), &value) ||
          __builtin_add_overflow(value, sign * (text[at] - '0'), &value))
        return std::nullopt;
    return SymExpr(value);
  }
  std::optional<SymExpr> factor() {
    skip();
    if (eat('-')) {
      skip();
      if (isDigit())
        return number(-1);
      if (++depth > 200)
        return std::nullopt;
      auto inner = factor();
      --depth;
      return inner ? std::optional<SymExpr>(*inner * SymExpr(-1)) : std::nullopt;
    }
    if (eat('(')) {
      auto inner = expression();
      return inner && eat(')') ? inner : std::nullopt;
    }
    if (isDigit())
      return number(1);
    size_t start = at;
    auto isName = [](char c) {
      return std::isalnum((unsigned char)c) || c == '_' || c == '.' || c == '#' || c == '$' ||
             (c & 0x80);
    };
    while (at < text.size() && isName(text[at]))
      ++at;
    std::string_view name = text.substr(start, at - start);
    if (name.empty())
      return std::nullopt;
    if (!eat('('))
      return SymExpr::symbol(name);
    auto a = expression();
    if (!a || !eat(','))
      return std::nullopt;
    auto b = expression();
    if (!b || !eat(')'))
      return std::nullopt;
    if (name == "floordiv")
      return a->floorDiv(*b);
    if (name == "ceildiv")
      return a->ceilDiv(*b);
    if (name == "mod")
      return a->mod(*b);
    if (name == "min")
      return SymExpr::min(*a, *b);
    if (name == "max")
      return SymExpr::max(*a, *b);
    return std::nullopt;
  }
};
} // namespace

std::optional<SymExpr> SymExpr::parse(std::string_view text) {
  Parser parser{text};
  auto result = parser.expression();
  parser.skip();
  return parser.at == text.size() ? result : std::nullopt;
}
