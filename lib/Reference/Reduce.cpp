//===- Reduce.cpp - Reductions, scans and contractions with error bounds --===//
//
// A kernel may combine terms in any order, in blocks, rescaled between them; the bound of a sum is
// therefore relative to the sum of magnitudes. A contraction computes three matrix products in
// double: of the values, of their magnitudes, and of magnitudes plus bounds. The difference of the
// last two is the effect of the operands' errors.
//
//===----------------------------------------------------------------------===//
#include "Tensor.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

using namespace tessera;
using namespace tessera::reference;

//===----------------------------------------------------------------------===//
// Reductions of floats
//===----------------------------------------------------------------------===//

/// A sum whose value, sum of magnitudes and sum of bounds are known.
static Approximation finishSum(double value, double magnitude, double bound, bool isExact,
                               int64_t terms, const Rounding &rounding) {
  if (!(bound < kInfinity))
    return Approximation::uncertain(value);
  if (!std::isfinite(magnitude)) // infinite terms, not overflow: they determine the result
    return {value, 0};
  if (magnitude + bound > rounding.accumulatorMax) // some order overflows
    return Approximation::uncertain(value);
  if (!isExact)
    bound += rounding.sumUnit(terms) * (magnitude + bound);
  else if (std::fabs(value) <= rounding.storedInteger)
    return {value, 0};
  double size = std::fabs(value) + bound;
  return rounding.checked({value, bound + rounding.error(0, size)});
}

namespace {
/// Incremental reductions, which can return the result so far.
struct RunningSum {
  explicit RunningSum(const Rounding &rounding) : rounding(rounding) {}

  void add(Approximation term) {
    sum += term.value;
    magnitude += std::fabs(term.value);
    bound += term.bound;
    isIntegral &= term.value == std::rint(term.value);
    hasInfinity |= !std::isfinite(term.value);
    ++terms;
  }
  Approximation get() const {
    if (terms == 1)
      return {double(sum), double(bound)};
    if (!hasInfinity && !std::isfinite(double(magnitude)))
      return Approximation::uncertain(double(sum));
    bool isExact = isIntegral && bound == 0 && magnitude <= rounding.exactInteger;
    return finishSum(double(sum), hasInfinity ? kInfinity : double(magnitude), double(bound),
                     isExact, terms, rounding);
  }

  const Rounding &rounding;
  long double sum = 0, magnitude = 0, bound = 0;
  bool isIntegral = true, hasInfinity = false;
  int64_t terms = 0;
};

struct RunningProduct {
  explicit RunningProduct(const Rounding &rounding) : rounding(rounding) {}

  void add(Approximation term) {
    if (terms++ == 0)
      first = term;
    if (term.bound == kInfinity) {
      isUncertain = true;
      return;
    }
    hasKnownSign &= term.bound == 0 || std::fabs(term.value) > term.bound;
    double size = std::fabs(term.value);
    isFinite &= std::isfinite(term.value);
    bound = std::fabs(value) * term.bound + size * bound + bound * term.bound;
    value *= term.value;
    bound += 2 * rounding.computeUnit * std::fabs(value);
    above *= std::max(size + term.bound, 1.0);
    below *= size == 0 ? 1.0 : std::min(size, 1.0);
    hasZero |= size == 0;
  }
  Approximation get() const {
    if (terms == 1)
      return first;
    if (isUncertain)
      return Approximation::uncertain(value);
    if (!isFinite)
      return {value, hasKnownSign ? 0 : kInfinity};
    // Another order may overflow or underflow in between.
    if (!(bound < kInfinity) || above > rounding.accumulatorMax ||
        (!hasZero && below < rounding.minNormal))
      return Approximation::uncertain(value);
    return rounding.checked(
        {value, hasZero && bound == 0 ? 0 : bound + rounding.error(0, std::fabs(value) + bound)});
  }

  const Rounding &rounding;
  Approximation first = {1, 0};
  double value = 1, bound = 0, above = 1, below = 1;
  bool isFinite = true, hasKnownSign = true, isUncertain = false, hasZero = false;
  int64_t terms = 0;
};

struct RunningExtreme {
  explicit RunningExtreme(ReduceOp op) : sign(op == ReduceOp::Max ? 1 : -1) {}

  void add(Approximation term) {
    if (!special && (term.bound == kInfinity || std::isnan(term.value)))
      special = term;
    value = std::max(value, sign * term.value);
    low = std::max(low, sign * term.value - term.bound);
    high = std::max(high, sign * term.value + term.bound);
  }
  Approximation get() const {
    if (special)
      return *special;
    return {sign * value, std::isfinite(value) ? std::max(high - value, value - low) : 0};
  }

  double sign, value = -kInfinity, low = -kInfinity, high = -kInfinity;
  std::optional<Approximation> special; // NaN or uncertain: it determines the result
};
} // namespace

//===----------------------------------------------------------------------===//
// Reductions of integers and bools
//===----------------------------------------------------------------------===//

static int64_t identity(ReduceOp op, IntegerFormat format) {
  int64_t low = format.isSigned ? format.wrap(int64_t(uint64_t(1) << (format.width - 1))) : 0;
  switch (op) {
  case ReduceOp::Prod:
  case ReduceOp::All:
    return 1;
  case ReduceOp::Max:
    return low;
  case ReduceOp::Min:
    return ~low & (format.isSigned ? -1 : (int64_t(1) << format.width) - 1);
  default:
    return 0;
  }
}

namespace {
struct RunningInteger {
  RunningInteger(ReduceOp op, IntegerFormat format)
      : op(op), format(format), value(identity(op, format)) {}

  void add(int64_t term, bool uncertain) {
    int64_t operands[] = {value, term};
    // One certain element determines any and all.
    bool isLogical = op == ReduceOp::Any || op == ReduceOp::All;
    isDecided |= isLogical && !uncertain && (term != 0) == (op == ReduceOp::Any);
    isUncertain |= uncertain;
    value = evaluateInteger(reduceOpCombiner(op), operands, format);
  }
  void store(Tensor &result, int64_t at) const {
    result.integers[at] = isDecided ? op == ReduceOp::Any : value;
    result.uncertain[at] = isUncertain && !isDecided;
  }

  ReduceOp op;
  IntegerFormat format;
  int64_t value;
  bool isDecided = false, isUncertain = false;
};
} // namespace

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Iterates over rows of `length` elements with stride `step`, starting at `begin(row)`, and calls
/// `visit(row, i, at, running)` after each element; `running.get()` is the reduction so far.
template <typename Begin, typename Visit>
static void walkRows(ReduceOp op, DType dtype, const Tensor &x, int64_t rows, int64_t length,
                     int64_t step, Begin begin, Visit visit) {
  auto walk = [&](const auto &initial) {
    for (int64_t row = 0; row < rows; ++row) {
      auto running = initial;
      if (length == 0)
        visit(row, -1, begin(row), running);
      for (int64_t i = 0, at = begin(row); i < length; ++i, at += step) {
        if constexpr (std::is_same_v<std::decay_t<decltype(running)>, RunningInteger>)
          running.add(x.integers[at], x.uncertain[at]);
        else
          running.add(x.get(at));
        visit(row, i, at, running);
      }
    }
  };
  if (!isFloat(dtype))
    walk(RunningInteger(op, formatOf(dtype)));
  else if (op == ReduceOp::Sum)
    walk(RunningSum(roundingOf(dtype)));
  else if (op == ReduceOp::Prod)
    walk(RunningProduct(roundingOf(dtype)));
  else
    walk(RunningExtreme(op));
}

template <typename Running>
static void storeRunning(const Running &running, Tensor &to, int64_t at) {
  if constexpr (std::is_same_v<Running, RunningInteger>)
    running.store(to, at);
  else
    to.set(at, running.get());
}

TensorRef reference::reduceRows(ReduceOp op, DType dtype, const Tensor &input,
                                llvm::ArrayRef<int64_t> sizes, int64_t length) {
  auto result = std::make_shared<Tensor>(dtype, sizes);
  walkRows(
      op, dtype, input, result->size(), length, 1, [&](int64_t row) { return row * length; },
      [&](int64_t row, int64_t i, int64_t, const auto &running) {
        if (i + 1 == length)
          storeRunning(running, *result, row);
      });
  return result;
}

TensorRef reference::scanTensor(ReduceOp op, DType dtype, const Tensor &input, unsigned dim) {
  auto result = std::make_shared<Tensor>(dtype, input.sizes);
  int64_t length = input.sizes[dim];
  int64_t inner = product(llvm::ArrayRef(input.sizes).drop_front(dim + 1));
  if (result->size() == 0)
    return result;
  walkRows(
      op, dtype, input, result->size() / length, length, inner,
      [&](int64_t row) { return row / inner * inner * length + row % inner; },
      [&](int64_t, int64_t, int64_t at, const auto &running) {
        storeRunning(running, *result, at);
      });
  return result;
}

/// Copies elements to a separate tensor.
static Tensor pick(const Tensor &from, llvm::ArrayRef<int64_t> places) {
  Tensor result(from.dtype, int64_t(places.size()));
  for (auto [i, at] : llvm::enumerate(places)) {
    if (from.isFloat()) {
      result.set(i, from.get(at));
    } else {
      result.integers[i] = from.integers[at];
      result.uncertain[i] = from.uncertain[at];
    }
  }
  return result;
}

TensorRef reference::scanByKey(ReduceOp op, const Tensor &input, const Tensor &keys, unsigned dim,
                               int64_t below) {
  auto result = std::make_shared<Tensor>(input.dtype, input.sizes);
  int64_t length = input.sizes[dim];
  int64_t inner = product(llvm::ArrayRef(input.sizes).drop_front(dim + 1));
  std::map<std::pair<int64_t, int64_t>, std::vector<int64_t>> same; // by row and key
  bool isUncertain = false;
  for (int64_t i = 0; i < input.size(); ++i) {
    int64_t row = i / (inner * length) * inner + i % inner, key = keys.integers[i];
    same[{row, key < 0 || key >= below ? below - 1 : key}].push_back(i);
    isUncertain |= keys.uncertain[i];
  }
  for (auto &[key, places] : same) {
    Tensor terms = pick(input, places);
    walkRows(
        op, input.dtype, terms, 1, terms.size(), 1, [](int64_t) { return 0; },
        [&, &places = places](int64_t, int64_t i, int64_t, const auto &running) {
          storeRunning(running, *result, places[i]);
        });
  }
  if (isUncertain) {
    std::fill(result->bounds.begin(), result->bounds.end(), kInfinity);
    std::fill(result->uncertain.begin(), result->uncertain.end(), true);
  }
  return result;
}

TensorRef reference::addAtPlaces(const Tensor &input, const Tensor &sources, const Tensor &indices,
                                 int64_t dim) {
  auto result = std::make_shared<Tensor>(input);
  llvm::ArrayRef<int64_t> sizes = input.sizes;
  int64_t stride = product(sizes.drop_front(dim + 1));
  std::map<int64_t, std::vector<int64_t>> sentTo;
  std::set<int64_t> unknown; // rows along `dim` with an uncertain index
  Sizes point(sizes.size(), 0);
  for (int64_t i = 0, count = sources.size(); i < count; ++i) {
    int64_t row = 0;
    for (size_t d = 0; d < sizes.size(); ++d)
      row = row * sizes[d] + (int64_t(d) == dim ? 0 : point[d]);
    if (indices.uncertain[i])
      unknown.insert(row);
    else if (indices.integers[i] >= 0 && indices.integers[i] < sizes[dim])
      sentTo[row + indices.integers[i] * stride].push_back(i);
    for (int64_t d = int64_t(sizes.size()) - 1; d >= 0 && ++point[d] == sources.sizes[d]; --d)
      point[d] = 0;
  }
  for (auto &[to, from] : sentTo) {
    Tensor terms(input.dtype, int64_t(from.size()) + 1);
    for (size_t i = 0; i <= from.size(); ++i) {
      const Tensor &source = i ? sources : input;
      int64_t at = i ? from[i - 1] : to;
      if (input.isFloat()) {
        terms.set(i, source.get(at));
      } else {
        terms.integers[i] = source.integers[at];
        terms.uncertain[i] = source.uncertain[at];
      }
    }
    int64_t length = terms.size();
    walkRows(
        ReduceOp::Sum, input.dtype, terms, 1, length, 1, [](int64_t) { return 0; },
        [&, to = to](int64_t, int64_t i, int64_t, const auto &running) {
          if (i + 1 == length)
            storeRunning(running, *result, to);
        });
  }
  for (int64_t row : unknown)
    for (int64_t i = 0; i < sizes[dim]; ++i) {
      if (input.isFloat())
        result->bounds[row + i * stride] = kInfinity;
      else
        result->uncertain[row + i * stride] = true;
    }
  return result;
}

TensorRef reference::putAtPlaces(const Tensor &sources, const Tensor &indices,
                                 llvm::ArrayRef<int64_t> sizes) {
  auto result = std::make_shared<Tensor>(sources.dtype, sizes);
  std::fill(result->bounds.begin(), result->bounds.end(), kInfinity);
  std::fill(result->uncertain.begin(), result->uncertain.end(), true);
  int64_t rows = product(sizes.drop_back()), length = sizes.back();
  for (int64_t row = 0, i = 0; row < rows; ++row)
    for (int64_t end = (row + 1) * (sources.size() / rows); i < end; ++i) {
      int64_t place = indices.integers[i], at = row * length + place;
      if (indices.uncertain[i] || place < 0 || place >= length)
        continue;
      if (sources.isFloat()) {
        result->set(at, sources.get(i));
      } else {
        result->integers[at] = sources.integers[i];
        result->uncertain[at] = sources.uncertain[i];
      }
    }
  return result;
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

/// c[m, n] += a[m, k] * b[k, n], four rows of b at a time, which stay in the cache.
static void multiplyMatrices(const double *a, const double *b, double *c, int64_t m, int64_t n,
                             int64_t k) {
  constexpr int64_t columns = 512, depth = 64;
  for (int64_t j0 = 0; j0 < n; j0 += columns)
    for (int64_t k0 = 0; k0 < k; k0 += depth)
      for (int64_t i = 0; i < m; ++i) {
        int64_t width = std::min(columns, n - j0), end = std::min(k, k0 + depth), p = k0;
        double *row = c + i * n + j0;
        for (; p + 4 <= end; p += 4) {
          const double *x = a + i * k + p, *y = b + p * n + j0;
          for (int64_t j = 0; j < width; ++j)
            row[j] += (x[0] * y[j] + x[1] * y[j + n]) + (x[2] * y[j + 2 * n] + x[3] * y[j + 3 * n]);
        }
        for (; p < end; ++p)
          for (int64_t j = 0; j < width; ++j)
            row[j] += a[i * k + p] * b[p * n + j0 + j];
      }
}

/// b[k, n] of a matrix that is stored as [n, k].
static std::vector<double> transposed(const double *x, int64_t n, int64_t k) {
  std::vector<double> result(n * k);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < k; ++j)
      result[j * n + i] = x[i * k + j];
  return result;
}

static std::vector<double> productOf(const std::vector<double> &a, const std::vector<double> &b,
                                     int64_t m, int64_t n, int64_t k) {
  std::vector<double> result(m * n, 0.0);
  std::vector<double> columns = transposed(b.data(), n, k);
  multiplyMatrices(a.data(), columns.data(), result.data(), m, n, k);
  return result;
}

static constexpr double leastNormal = 0x1p-126; // of f32 and bf16

namespace {
/// One factor of a contraction: values, magnitudes, and magnitudes plus bounds. If the hardware
/// flushes subnormal numbers, they may count as zero.
struct Factor {
  Factor(const Tensor &x, int64_t begin, int64_t count, bool flushes)
      : values(x.values.begin() + begin, x.values.begin() + begin + count),
        bounds(x.bounds.data() + begin), sizes(count), widths(count) {
    for (int64_t i = 0; i < count; ++i) {
      sizes[i] = std::fabs(values[i]);
      widths[i] = sizes[i] + bounds[i];
      if (flushes && sizes[i] > 0 && sizes[i] < leastNormal) {
        widths[i] += sizes[i];
        isExact = false;
      }
      isExact &= bounds[i] == 0;
      isIntegral &= values[i] == std::rint(values[i]);
    }
  }
  Approximation get(int64_t i) const { return {values[i], bounds[i]}; }

  std::vector<double> values;
  const double *bounds;
  std::vector<double> sizes, widths;
  bool isExact = true, isIntegral = true;
};
} // namespace

/// A row with infinite, NaN or uncertain terms: the result depends on whether they are multiplied
/// by zero.
static Approximation contractSpecialRow(const Factor &x, int64_t xBegin, const Factor &y,
                                        int64_t yBegin, int64_t k, double value) {
  bool isSpecial = false;
  for (int64_t p = 0; p < k; ++p) {
    Approximation a = x.get(xBegin + p), b = y.get(yBegin + p);
    if (a.bound == kInfinity || b.bound == kInfinity)
      return Approximation::uncertain(value);
    if (std::isfinite(a.value) && std::isfinite(b.value))
      continue;
    isSpecial = true;
    if (std::fabs(a.value) <= a.bound ||
        std::fabs(b.value) <= b.bound) // a masked element, or an unknown sign
      return Approximation::uncertain(value);
  }
  return {value, isSpecial ? 0 : kInfinity}; // otherwise finite terms that overflow
}

static void contractFloats(const Tensor &lhs, const Tensor &rhs, Tensor &result, int64_t batch,
                           int64_t m, int64_t n, int64_t k) {
  const Rounding &rounding = roundingOf(result.dtype);
  // Instructions that multiply bf16 (AMX, BFMMLA) flush subnormal factors, products and sums.
  bool flushes = lhs.dtype == DType::BF16 && rhs.dtype == DType::BF16;
  double flushed = flushes ? 2 * double(k) * leastNormal : 0;
  for (int64_t b = 0; b < batch; ++b) {
    Factor x(lhs, b * m * k, m * k, flushes), y(rhs, b * n * k, n * k, flushes);
    bool isExact = x.isExact && y.isExact, isIntegral = isExact && x.isIntegral && y.isIntegral;
    std::vector<double> values = productOf(x.values, y.values, m, n, k);
    std::vector<double> sizes = productOf(x.sizes, y.sizes, m, n, k);
    std::vector<double> widths = isExact ? sizes : productOf(x.widths, y.widths, m, n, k);
    for (int64_t i = 0; i < m * n; ++i) {
      Approximation sum;
      if (std::isfinite(widths[i]))
        sum = finishSum(values[i], sizes[i],
                        std::max(0.0, widths[i] - sizes[i]) + (isIntegral ? 0 : flushed),
                        isIntegral && sizes[i] <= rounding.exactInteger, k, rounding);
      else
        sum = contractSpecialRow(x, i / n * k, y, i % n * k, k, values[i]);
      result.set(b * m * n + i, sum);
    }
  }
}

static void contractIntegers(const Tensor &lhs, const Tensor &rhs, Tensor &result, int64_t batch,
                             int64_t m, int64_t n, int64_t k) {
  IntegerFormat format = formatOf(result.dtype);
  for (int64_t i = 0; i < batch * m * n; ++i) {
    int64_t x = i / n * k, y = (i / (m * n) * n + i % n) * k;
    uint64_t sum = 0;
    for (int64_t p = 0; p < k; ++p) {
      sum += uint64_t(lhs.integers[x + p]) * uint64_t(rhs.integers[y + p]);
      result.uncertain[i] |= lhs.uncertain[x + p] | rhs.uncertain[y + p];
    }
    result.integers[i] = format.wrap(int64_t(sum));
  }
}

TensorRef reference::contractTensors(DType dtype, const Tensor &lhs, const Tensor &rhs,
                                     llvm::ArrayRef<int64_t> sizes, int64_t batch, int64_t m,
                                     int64_t n, int64_t k) {
  auto result = std::make_shared<Tensor>(dtype, sizes);
  if (result->size() == 0)
    return result;
  if (result->isFloat())
    contractFloats(lhs, rhs, *result, batch, m, n, k);
  else
    contractIntegers(lhs, rhs, *result, batch, m, n, k);
  return result;
}
