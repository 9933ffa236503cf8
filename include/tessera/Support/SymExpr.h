//===- SymExpr.h - Symbolic sizes ------------------------------*- C++ -*-===//
//
// Integer expressions over named sizes: the one algebra for dimensions of tensor types, grids,
// strides and the host program. Expressions are interned in canonical form (a polynomial over
// symbols and opaque division, minimum and maximum atoms), so structural equality is pointer
// equality:
//
//   SymExpr b = SymExpr::symbol("B"), s = SymExpr::symbol("S");
//   (b + s) * 2 == s * 2 + b * 2           // true, and the same pointer
//   (s * 64 + 3).floorDiv(64) == s         // whole multiples leave a division
//
// Sizes are non-negative, and the simplifications use it: floordiv and mod round toward minus
// infinity.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_SUPPORT_SYMEXPR_H
#define TESSERA_SUPPORT_SYMEXPR_H

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

namespace detail {
struct SymNode;
}

class SymExpr {
public:
  enum class Kind { Constant, Symbol, Add, Mul, FloorDiv, CeilDiv, Mod, Min, Max };

  /// The constant zero.
  SymExpr();
  SymExpr(int64_t value); // implicit: a number is a size
  static SymExpr constant(int64_t value) { return SymExpr(value); }
  static SymExpr symbol(std::string_view name);

  SymExpr operator+(SymExpr other) const;
  SymExpr operator-(SymExpr other) const;
  SymExpr operator*(SymExpr other) const;
  SymExpr floorDiv(SymExpr other) const;
  SymExpr ceilDiv(SymExpr other) const;
  SymExpr mod(SymExpr other) const;
  static SymExpr min(SymExpr a, SymExpr b);
  static SymExpr max(SymExpr a, SymExpr b);

  bool operator==(SymExpr other) const { return node == other.node; }
  bool operator!=(SymExpr other) const { return node != other.node; }
  /// A stable order by text, for deterministic output.
  bool operator<(SymExpr other) const;

  Kind kind() const;
  bool isConstant() const { return kind() == Kind::Constant; }
  bool isConstant(int64_t value) const { return isConstant() && constantValue() == value; }
  bool isSymbol() const { return kind() == Kind::Symbol; }
  int64_t constantValue() const;
  const std::string &symbolName() const;
  /// Operands of an Add, Mul or binary node, in canonical order.
  const std::vector<SymExpr> &operands() const;

  /// Whether the expression is known to be non-negative for non-negative symbols: a sum or product
  /// of non-negative parts.
  bool isNonNegative() const;
  /// The largest known integer that divides every value, given divisors of the symbols (1 if
  /// unknown).
  int64_t divisor(const std::function<int64_t(const std::string &)> &symbolDivisor = nullptr) const;
  void collectSymbols(std::set<std::string> &names) const;
  SymExpr substitute(const std::function<std::optional<SymExpr>(const std::string &)> &map) const;
  /// The value for the given sizes; nothing if a symbol is unknown, a divisor is zero, or 64 bits
  /// overflow.
  std::optional<int64_t>
  evaluate(const std::function<std::optional<int64_t>(const std::string &)> &value) const;

  /// `S + 2*T`, `ceildiv(S, 64)`: parse(str()) gives the same expression.
  std::string str() const;
  static std::optional<SymExpr> parse(std::string_view text);

  const void *opaque() const { return node; }

private:
  explicit SymExpr(const detail::SymNode &node) : node(&node) {}
  const detail::SymNode *node;
  friend struct detail::SymNode;
  friend class SymInterner;
};

} // namespace tessera

template <> struct std::hash<tessera::SymExpr> {
  size_t operator()(tessera::SymExpr e) const { return std::hash<const void *>()(e.opaque()); }
};

#endif
