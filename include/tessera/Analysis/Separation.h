//===- Separation.h - Splitting reduction bodies ---------------*- C++ -*-===//
//
// The algebra of streaming fusion. The body of a reduction over stream dimensions n mixes stream
// elements X (which depend on n), statistics R (earlier reductions over n) and known values K.
// Separation writes it as
//
//     Σⱼ e^αⱼ · aⱼ(R, K) · e^βⱼ · bⱼ(X, K)
//
// so that only the sums Bⱼ = Σₙ e^βⱼ·bⱼ have to be carried along the stream and every aⱼ is applied
// behind the loop: a cascade of reductions becomes one pass. Where no such form exists the answer
// is the reason.
//
// Statistics enter as pairs e^λ·μ, so that exponents cancel symbolically and nothing overflows on
// the way. A difference x - r outside an exponent is centred on a typical element h of the stream:
// (x - h) - (r - h), which keeps moments accurate when the mean is large.
//
// An indicator [x = m], with m the maximum of x, needs no separation: what has been joined for an
// old maximum is dropped when a larger x comes. Where it holds x is m, so exponents of x leave the
// sum with it.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_ANALYSIS_SEPARATION_H
#define TESSERA_ANALYSIS_SEPARATION_H

#include "tessera/Analysis/Linear.h"

namespace tessera {

/// e^lambda · mu, with lambda and mu free of the stream.
struct ExpPair {
  Linear lambda;
  Expr mu;
};

/// e^alpha · a · e^beta · b; if `indicator` is set, an extremum of x along the stream, b is 0 where
/// x is not it.
struct SeparatedTerm {
  Linear alpha;
  Expr a;
  Linear beta;
  Expr b;
  Expr indicator = nullptr;
};

class Separator {
public:
  enum class LevelKind { None, Statistic, Known };
  /// What a Reduce over the stream is to this body: a statistic of the same pass (with its pair),
  /// or known before.
  using Classify = std::function<LevelKind(Expr)>;
  using Resolve = std::function<ExpPair(Expr)>;

  Separator(ExprPool &pool, DimSet stream, Classify classify, Resolve resolve)
      : pool(pool), stream(std::move(stream)), classify(std::move(classify)),
        resolve(std::move(resolve)) {}

  /// The terms of a sum's body; nothing if it cannot be separated (see `reason`).
  std::optional<std::vector<SeparatedTerm>> separateSum(Expr body);
  /// A maximum's or minimum's body as alpha(R, K) + beta(X, K).
  std::optional<std::pair<Linear, Expr>> separateExtremum(Expr body);
  /// A stream-free expression of statistics as e^lambda · mu, and as a plain value.
  ExpPair pairOf(Expr e);
  Expr valueOf(Expr e);
  Expr valueOf(const ExpPair &pair);
  /// The extremum m of some x along the stream, if `condition` mixes the two and holds only where x
  /// is m; else null.
  Expr indicatorOf(Expr condition);
  /// The same for a condition that also holds where x is nan, as m is then.
  Expr indicatorOrNanOf(Expr condition);

  bool hasX(Expr e);
  bool hasR(Expr e);
  std::string reason;

  static constexpr unsigned maxRank = 4;

private:
  using Terms = std::vector<SeparatedTerm>;
  // What is asked of shared expressions is computed once: programs are graphs, not trees.
  std::optional<Terms> separate(Expr e);
  std::optional<Terms> computeTerms(Expr e);
  ExpPair computePair(Expr e);
  Expr computeValue(Expr e);
  Linear computeLinear(Expr e);
  bool computeExponential(Expr e);
  using Split = std::pair<Linear, Linear>;
  std::optional<Split> computeSplit(Expr e, double sign);
  std::optional<Terms> separateWhere(Expr e);
  std::optional<Terms> merge(Terms terms);
  void centre(Terms &terms);
  Expr typical(Expr x);
  bool restrict(SeparatedTerm &term, Expr indicator);
  bool splitExponent(Expr e, double scale, Linear &alpha, Linear &beta);
  Linear linearOf(Expr e);
  bool hasExponential(Expr e);
  std::optional<Terms> fail(Expr e, const char *why);
  Expr one(Expr like) { return pool.constant(1, like->type); }

  ExprPool &pool;
  DimSet stream;
  Classify classify;
  Resolve resolve;
  llvm::DenseMap<Expr, unsigned> kinds;
  llvm::DenseMap<Expr, bool> exponentials;
  llvm::DenseMap<Expr, ExpPair> expPairs;
  llvm::DenseMap<Expr, Expr> values;
  llvm::DenseMap<Expr, Linear> linears;
  llvm::DenseMap<Expr, std::optional<Terms>> termLists;
  llvm::DenseMap<std::pair<Expr, int>, std::optional<Split>> splits;
  unsigned kindsOf(Expr e);
};

} // namespace tessera

#endif
