//===- Separation.h - Separation of reduction bodies ------------*- C++ -*-===//
//
// The algebra of streaming fusion. The body of a reduction over stream dimensions n combines stream
// elements X (which depend on n), statistics R (earlier reductions over n) and known values K.
// Separation rewrites it as
//
//     Σⱼ e^αⱼ · aⱼ(R, K) · e^βⱼ · bⱼ(X, K)
//
// so that only the sums Bⱼ = Σₙ e^βⱼ·bⱼ are carried by the loop and every aⱼ is applied after the
// loop: a cascade of reductions becomes one pass. If there is no such form, the reason is reported.
//
// Statistics are pairs e^λ·μ, so that exponents cancel symbolically and no intermediate value
// overflows. A difference x - r outside an exponent is centred on a typical element h of the
// stream: (x - h) - (r - h), which keeps moments accurate if the mean is large.
//
// An indicator [x = m], with m the maximum of x, needs no separation: the values accumulated for an
// old maximum are dropped when a larger x occurs. Where the indicator holds, x equals m, so
// exponents of x move out of the sum.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_FUSION_SEPARATION_H
#define TESSERA_FUSION_SEPARATION_H

#include "tessera/Fusion/Linear.h"

namespace tessera {

/// e^lambda · mu, with lambda and mu free of the stream.
struct ExpPair {
  Linear lambda;
  Expr mu;
};

/// e^alpha · a · e^beta · b. If `indicator` is set, an extremum of x along the stream, b is 0 where
/// x differs from it.
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
  /// The role of a Reduce over the stream in this body: a statistic of the same pass (with its
  /// pair), or known before.
  using Classify = std::function<LevelKind(Expr)>;
  using Resolve = std::function<ExpPair(Expr)>;

  Separator(ExprPool &pool, DimSet stream, Classify classify, Resolve resolve)
      : pool(pool), stream(std::move(stream)), classify(std::move(classify)),
        resolve(std::move(resolve)) {}

  /// The terms of a sum's body; nullopt if it cannot be separated (see `reason`).
  std::optional<std::vector<SeparatedTerm>> separateSum(Expr body);
  /// The body of a maximum or minimum as alpha(R, K) + beta(X, K).
  std::optional<std::pair<Linear, Expr>> separateExtremum(Expr body);
  /// A stream-free expression of statistics as e^lambda · mu, and as a plain value.
  ExpPair pairOf(Expr e);
  Expr valueOf(Expr e);
  Expr valueOf(const ExpPair &pair);
  /// The extremum m of some x along the stream, if `condition` combines the two and holds only
  /// where x is m; otherwise null.
  Expr indicatorOf(Expr condition);
  /// The same for a condition that also holds where x is NaN, as m is NaN then.
  Expr indicatorOrNanOf(Expr condition);

  bool hasX(Expr e);
  bool hasR(Expr e);
  std::string reason;

  static constexpr unsigned maxRank = 4;

private:
  using Terms = std::vector<SeparatedTerm>;
  // Results for shared expressions are memoized: programs are DAGs, not trees.
  std::optional<Terms> separate(Expr e);
  std::optional<Terms> computeTerms(Expr e);
  ExpPair computePair(Expr e);
  Expr computeValue(Expr e);
  Linear computeLinear(Expr e);
  bool computeExponential(Expr e);
  using Split = std::pair<Linear, Linear>;
  std::optional<Split> computeSplit(Expr e, double sign);
  std::optional<Terms> separateCast(Expr e);
  std::optional<Terms> separateAddition(Expr e);
  std::optional<Terms> separateProduct(Expr e);
  std::optional<Terms> separateQuotient(Expr e);
  std::optional<Terms> separateLog(Expr e);
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
