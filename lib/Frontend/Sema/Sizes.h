//===- Sizes.h - Symbolic sizes of a function and their assumptions -*- C++ -*-===//
//
// Sizes stay symbols until the program needs to know something about them. Then the concrete values
// decide, and the decision is recorded: as a binding of the symbol (`S` is 128, `y.0` is `x.0`) or
// as a guard on expressions. A binding changes types that were created before; therefore the
// function is interpreted again, from the start, with the bindings found so far, until there are no
// new ones. `Assumptions` is kept from one attempt to the next.
//
//===------------------------------------------------------------------------------------------===//
#ifndef TESSERA_LIB_FRONTEND_SEMA_SIZES_H
#define TESSERA_LIB_FRONTEND_SEMA_SIZES_H

#include "tessera/Frontend/Frontend.h"

#include <map>

namespace tessera::sema {

/// Assumptions about symbols, with the location that requires each.
struct Assumptions {
  struct Binding {
    SymExpr value;
    SourceRange reason;
  };
  std::map<std::string, Binding> bindings;
  /// In order of discovery.
  std::vector<std::string> order;

  SymExpr apply(SymExpr e) const;
  void bind(const std::string &symbol, SymExpr value, SourceRange reason);
};

class Sizes {
public:
  struct Symbol {
    SymbolInfo info;
    /// Named by an annotation or an int argument: never assumed equal to another one.
    bool named = false;
    SourceRange bound;
    std::string description; // of an unnamed one: "dimension 0 of 'x'"
    std::vector<Guarded> origins;
  };

  explicit Sizes(Assumptions &assumptions) : assumptions(assumptions) {}

  /// Declares a symbol (once) and returns its binding in this attempt.
  SymExpr declare(Symbol symbol);
  Symbol *find(const std::string &name);
  /// Rewrites the sizes in a message for the user: an unnamed symbol becomes its concrete size, or
  /// else "x.shape[1]", and expressions are folded; a quoted expression over names is followed by
  /// its concrete value.
  std::string readable(std::string_view text) const;
  const std::vector<Symbol> &all() const { return symbols; }

  /// The value with the concrete sizes.
  std::optional<int64_t> valueAtHand(SymExpr e) const;
  /// The value of `e`, which becomes a guard; nothing if it is not known.
  std::optional<int64_t> fix(SymExpr e, SourceRange reason);
  /// Whether two sizes are equal, by a guard if that may be assumed.
  bool equal(SymExpr a, SymExpr b, SourceRange reason);
  /// Makes two sizes with equal concrete values equal by a guard that does not fix their values;
  /// returns false if there is no such guard.
  bool unify(SymExpr a, SymExpr b, SourceRange reason);
  /// Whether `e` is at least 0: proven, or by its concrete value and a guard. Nothing if not known.
  std::optional<bool> nonNegative(SymExpr e, SourceRange reason);
  /// Whether `e` is at least 0 for all sizes.
  bool provablyNonNegative(SymExpr e, unsigned depth = 0) const;
  /// The known divisor of `e`, given those of the symbols.
  int64_t knownDivisor(SymExpr e) const;
  /// Assumes `left == right`, which must hold for the concrete sizes.
  void guard(SymExpr left, SymExpr right, SourceRange reason);

  bool foundBindings() const { return newBindings; }
  const std::vector<Guard> &guards() const { return expressionGuards; }

private:
  /// The expression in a part of a message, if all its names are symbols.
  std::optional<SymExpr> expressionIn(std::string_view text) const;
  std::string withoutOwnNames(std::string_view text) const;
  std::optional<int64_t> lowerBound(SymExpr e) const;
  bool solve(SymExpr difference, SourceRange reason);
  bool equalByFactors(SymExpr a, SymExpr b, SourceRange reason);
  bool equalByExactDivision(SymExpr a, SymExpr b, SourceRange reason);
  void bind(const std::string &symbol, SymExpr value, SourceRange reason);

  Assumptions &assumptions;
  std::vector<Symbol> symbols;
  std::map<std::string, size_t> index;
  std::vector<Guard> expressionGuards;
  bool newBindings = false;
};

} // namespace tessera::sema

#endif // TESSERA_LIB_FRONTEND_SEMA_SIZES_H
