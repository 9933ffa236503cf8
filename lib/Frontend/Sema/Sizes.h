//===- Sizes.h - The symbolic sizes of a function and what is assumed of them -------*- C++ -*-===//
//
// Sizes stay symbols until the program needs to know something of them. Then the values at hand
// decide, and what they decided is recorded: as a binding of the symbol (`S` is 128, `y.0` is
// `x.0`) or as a guard on expressions. A binding changes types that were made before it was known;
// therefore the function is interpreted again, from the start, with the bindings found so far,
// until no new ones are found. `Assumptions` is what survives from one attempt to the next.
//
//===------------------------------------------------------------------------------------------===//
#ifndef TESSERA_LIB_FRONTEND_SEMA_SIZES_H
#define TESSERA_LIB_FRONTEND_SEMA_SIZES_H

#include "tessera/Frontend/Frontend.h"

#include <map>

namespace tessera::sema {

/// What is assumed of symbols, with the place that needed it.
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
    /// Given by an annotation or as an int argument: never assumed equal to another one.
    bool named = false;
    SourceRange bound;
    std::string description; // of an unnamed one: "dimension 0 of 'x'"
    std::vector<Guarded> origins;
  };

  explicit Sizes(Assumptions &assumptions) : assumptions(assumptions) {}

  /// Declares a symbol (once) and gives what it stands for in this attempt.
  SymExpr declare(Symbol symbol);
  Symbol *find(const std::string &name);
  /// A message with the symbols that have no name of the user's replaced: "x.1" becomes the size at
  /// hand, or else "x.shape[1]".
  std::string readable(std::string_view text) const;
  const std::vector<Symbol> &all() const { return symbols; }

  /// The value with the sizes at hand.
  std::optional<int64_t> valueAtHand(SymExpr e) const;
  /// The value of `e`, which thereby becomes a guard; nothing if it is not at hand.
  std::optional<int64_t> fix(SymExpr e, SourceRange reason);
  /// Whether two sizes are equal, by a guard where that may be assumed.
  bool equal(SymExpr a, SymExpr b, SourceRange reason);
  /// Makes two sizes that are equal at hand equal by a guard that does not fix their values; false
  /// where there is no such guard.
  bool unify(SymExpr a, SymExpr b, SourceRange reason);
  /// Whether `e` is at least 0: proven, or as it is at hand, by a guard. Nothing if not known.
  std::optional<bool> nonNegative(SymExpr e, SourceRange reason);
  /// Whether `e` is at least 0 for all sizes.
  bool provablyNonNegative(SymExpr e, unsigned depth = 0) const;
  /// What is known to divide `e`, given what divides the symbols.
  int64_t knownDivisor(SymExpr e) const;
  /// Assumes `left == right`, which must hold at hand.
  void guard(SymExpr left, SymExpr right, SourceRange reason);

  bool foundBindings() const { return newBindings; }
  const std::vector<Guard> &guards() const { return expressionGuards; }

private:
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
