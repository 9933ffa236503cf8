//===- Rows.cpp - Scans, sorts, scatters and checks -----------------------===//
#include "Rows.h"

#include "tessera/Support/ScalarEval.h"

#include <algorithm>
#include <vector>

using namespace tessera;
using namespace tessera::ready;

namespace {

/// Reads argument words in order.
class Words {
public:
  explicit Words(const int64_t *next) : next(next) {}
  int64_t number() { return *next++; }
  DType dtype() { return DType(*next++); }
  char *address() { return reinterpret_cast<char *>(*next++); }
  const int64_t *numbers(int64_t count) {
    next += count;
    return next - count;
  }

private:
  const int64_t *next;
};

/// The indices of a shape in row-major order, and an offset for each operand.
template <unsigned operands> class Walk {
public:
  Walk(int64_t rank, const int64_t *sizes) : rank(rank), sizes(sizes) {}
  void setStrides(unsigned operand, const int64_t *values) { strides[operand] = values; }
  void advance() {
    for (int64_t d = rank - 1; d >= 0; --d) {
      bool isLast = ++index[d] == sizes[d];
      for (unsigned k = 0; k < operands; ++k)
        offsets[k] += strides[k][d] * (isLast ? 1 - sizes[d] : 1);
      if (!isLast)
        return;
      index[d] = 0;
    }
  }

  int64_t rank;
  const int64_t *sizes, *strides[operands] = {};
  int64_t index[maxRank] = {}, offsets[operands] = {};
};

int64_t product(const int64_t *sizes, int64_t rank) {
  int64_t result = 1;
  for (int64_t d = 0; d < rank; ++d)
    result *= sizes[d];
  return result;
}

int64_t integerAt(const char *memory, int64_t index, DType dtype) {
  return rt::decodeInteger(rt::loadBits(memory + index * dtypeBytes(dtype), dtype), dtype);
}
double floatAt(const char *memory, int64_t index, DType dtype) {
  return rt::decodeFloat(rt::loadBits(memory + index * dtypeBytes(dtype), dtype), dtype);
}

/// One accumulator of a scan, or an element that sources are added to.
class Accumulator {
public:
  Accumulator(ReduceOp op, DType dtype) : op(reduceOpCombiner(op)), dtype(dtype) {}

  void add(const char *memory, int64_t index) {
    if (isFloat(dtype)) {
      double x[] = {real, floatAt(memory, index, dtype)};
      real = isEmpty ? x[1] : evaluateFloat(op, x);
    } else {
      int64_t x[] = {integer, integerAt(memory, index, dtype)};
      IntegerFormat format{dtype == DType::Bool ? 1 : unsigned(dtypeBytes(dtype) * 8),
                           dtype != DType::UInt8 && dtype != DType::Bool};
      integer = isEmpty ? x[1] : evaluateInteger(op, x, format);
    }
    isEmpty = false;
  }
  void store(char *memory, int64_t index) const {
    uint64_t bits =
        isFloat(dtype) ? rt::encodeFloat(real, dtype) : rt::encodeInteger(integer, dtype);
    rt::storeBits(memory + index * dtypeBytes(dtype), bits, dtype);
  }
  bool isEmpty = true;

private:
  ScalarOp op;
  DType dtype;
  double real = 0;
  int64_t integer = 0;
};

/// A scan's rows: their elements along the length are `inner` apart in the dense result.
struct ScanRows {
  ReduceOp op;
  DType dtype;
  const char *input;
  char *result;
  int64_t outer, length, inner;
  const int64_t *strides;

  explicit ScanRows(Words &words)
      : op(ReduceOp(words.number())), dtype(words.dtype()), input(words.address()),
        result(words.address()), outer(words.number()), length(words.number()),
        inner(words.number()), strides(words.numbers(3)) {}
  int64_t from(int64_t row) const { return row / inner * strides[0] + row % inner * strides[2]; }
  int64_t to(int64_t row) const { return row / inner * length * inner + row % inner; }
};

/// Sums, the most frequent scan.
template <typename T, typename Sum>
void scanSums(const ScanRows &rows, int64_t begin, int64_t end) {
  auto *from = reinterpret_cast<const T *>(rows.input);
  auto *to = reinterpret_cast<T *>(rows.result);
  for (int64_t row = begin; row < end; ++row) {
    Sum sum = 0;
    int64_t read = rows.from(row), write = rows.to(row);
    for (int64_t i = 0; i < rows.length; ++i, read += rows.strides[1], write += rows.inner)
      to[write] = T(sum += Sum(from[read]));
  }
}

} // namespace

void ready::scan(const int64_t *args, int64_t begin, int64_t end, const tessera_rt_kernel_env *) {
  Words words(args);
  ScanRows rows(words);
  if (rows.op == ReduceOp::Sum && rows.dtype == DType::FP32)
    return scanSums<float, double>(rows, begin, end);
  if (rows.op == ReduceOp::Sum && rows.dtype == DType::FP64)
    return scanSums<double, double>(rows, begin, end);
  if (rows.op == ReduceOp::Sum && rows.dtype == DType::Int64)
    return scanSums<int64_t, uint64_t>(rows, begin, end);
  if (rows.op == ReduceOp::Sum && rows.dtype == DType::Int32)
    return scanSums<int32_t, uint32_t>(rows, begin, end);
  for (int64_t row = begin; row < end; ++row) {
    Accumulator sum(rows.op, rows.dtype);
    int64_t from = rows.from(row), to = rows.to(row);
    for (int64_t i = 0; i < rows.length; ++i) {
      sum.add(rows.input, from + i * rows.strides[1]);
      sum.store(rows.result, to + i * rows.inner);
    }
  }
}

void ready::scanByKey(const int64_t *args, int64_t begin, int64_t end,
                      const tessera_rt_kernel_env *) {
  Words words(args);
  ScanRows rows(words);
  DType keyType = words.dtype();
  const char *keys = words.address();
  const int64_t *keyStrides = words.numbers(3);
  int64_t below = words.number();
  for (int64_t row = begin; row < end; ++row) {
    std::vector<Accumulator> sums(size_t(below), Accumulator(rows.op, rows.dtype));
    int64_t from = rows.from(row), to = rows.to(row);
    int64_t key = row / rows.inner * keyStrides[0] + row % rows.inner * keyStrides[2];
    for (int64_t i = 0; i < rows.length; ++i) {
      int64_t which = integerAt(keys, key + i * keyStrides[1], keyType);
      Accumulator &sum = sums[size_t(which < 0 || which >= below ? below - 1 : which)];
      sum.add(rows.input, from + i * rows.strides[1]);
      sum.store(rows.result, to + i * rows.inner);
    }
  }
}

void ready::scatterAdd(const int64_t *args, int64_t, int64_t, const tessera_rt_kernel_env *) {
  Words words(args);
  DType dtype = words.dtype();
  char *result = words.address();
  int64_t rank = words.number(), dim = words.number();
  const int64_t *sizes = words.numbers(rank), *sourceSizes = words.numbers(rank);
  const char *sources = words.address();
  const int64_t *sourceStrides = words.numbers(rank);
  DType indexType = words.dtype();
  const char *indices = words.address();
  const int64_t *indexStrides = words.numbers(rank);
  int64_t strides[maxRank], stride = 1;
  for (int64_t d = rank; d-- > 0; stride *= sizes[d])
    strides[d] = stride;
  int64_t along = strides[dim];
  strides[dim] = 0;
  Walk<3> walk(rank, sourceSizes);
  walk.setStrides(0, sourceStrides);
  walk.setStrides(1, indexStrides);
  walk.setStrides(2, strides);
  for (int64_t i = 0, count = product(sourceSizes, rank); i < count; ++i, walk.advance()) {
    int64_t index = integerAt(indices, walk.offsets[1], indexType);
    if (index < 0 || index >= sizes[dim])
      continue;
    int64_t to = walk.offsets[2] + index * along;
    Accumulator sum(ReduceOp::Sum, dtype);
    sum.add(result, to);
    sum.add(sources, walk.offsets[0]);
    sum.store(result, to);
  }
}

void ready::scatter(const int64_t *args, int64_t, int64_t, const tessera_rt_kernel_env *) {
  Words words(args);
  DType dtype = words.dtype();
  char *result = words.address();
  int64_t rows = words.number(), length = words.number(), rank = words.number();
  const int64_t *sizes = words.numbers(rank);
  const char *sources = words.address();
  const int64_t *sourceStrides = words.numbers(rank);
  DType indexType = words.dtype();
  const char *indices = words.address();
  const int64_t *indexStrides = words.numbers(rank);
  int64_t bytes = dtypeBytes(dtype), count = product(sizes, rank);
  std::memset(result, 0, size_t(rows * length * bytes));
  Walk<2> walk(rank, sizes);
  walk.setStrides(0, sourceStrides);
  walk.setStrides(1, indexStrides);
  for (int64_t i = 0; i < count; ++i, walk.advance()) {
    int64_t index = integerAt(indices, walk.offsets[1], indexType), row = i / (count / rows);
    if (index >= 0 && index < length)
      std::memcpy(result + (row * length + index) * bytes, sources + walk.offsets[0] * bytes,
                  size_t(bytes));
  }
}

void ready::argsort(const int64_t *args, int64_t begin, int64_t end,
                    const tessera_rt_kernel_env *) {
  Words words(args);
  DType dtype = words.dtype();
  const char *input = words.address();
  auto *result = reinterpret_cast<int64_t *>(words.address());
  int64_t rank = words.number();
  const int64_t *sizes = words.numbers(rank);
  int64_t length = words.number(), wanted = words.number(), descends = words.number();
  const int64_t *strides = words.numbers(rank);
  int64_t along = words.number();
  std::vector<std::pair<int64_t, int64_t>> keys(static_cast<size_t>(length));
  for (int64_t row = begin; row < end; ++row) {
    int64_t from = 0, rest = row;
    for (int64_t d = rank; d-- > 0; rest /= sizes[d])
      from += rest % sizes[d] * strides[d];
    for (int64_t i = 0; i < length; ++i) {
      int64_t at = from + i * along;
      int64_t key = isFloat(dtype) ? orderKey(floatAt(input, at, dtype), dtype == DType::FP64)
                                   : integerAt(input, at, dtype);
      keys[size_t(i)] = {descends ? ~key : key, i}; // ~ turns the order around
    }
    if (wanted >= length)
      std::sort(keys.begin(), keys.end());
    else
      std::partial_sort(keys.begin(), keys.begin() + wanted, keys.end());
    for (int64_t i = 0; i < wanted; ++i)
      result[row * wanted + i] = keys[size_t(i)].second;
  }
}

void ready::takeRows(const int64_t *args, int64_t begin, int64_t end,
                     const tessera_rt_kernel_env *) {
  Words words(args);
  int64_t bytes = words.number(), length = words.number();
  char *result = words.address();
  int64_t rank = words.number();
  const int64_t *sizes = words.numbers(rank);
  const char *table = words.address();
  const int64_t *strides = words.numbers(rank);
  struct Index {
    DType dtype;
    const char *address;
    const int64_t *strides;
    int64_t size, stride;
  };
  std::vector<Index> indices(static_cast<size_t>(words.number()));
  for (Index &index : indices) {
    index.dtype = words.dtype();
    index.address = words.address();
    index.strides = words.numbers(rank);
    index.size = words.number();
    index.stride = words.number();
  }
  auto offsetOf = [&](int64_t row, const int64_t *along) {
    int64_t offset = 0;
    for (int64_t d = rank; d-- > 0; row /= sizes[d])
      offset += row % sizes[d] * along[d];
    return offset;
  };
  for (int64_t row = begin; row < end; ++row) {
    int64_t from = offsetOf(row, strides);
    for (const Index &index : indices) {
      int64_t found = integerAt(index.address, offsetOf(row, index.strides), index.dtype);
      from += std::clamp<int64_t>(found, 0, std::max<int64_t>(index.size - 1, 0)) * index.stride;
    }
    std::memcpy(result + row * length * bytes, table + from * bytes, size_t(length * bytes));
  }
}

void ready::check(const int64_t *args, int64_t, int64_t, const tessera_rt_kernel_env *env) {
  Words words(args);
  int64_t rank = words.number();
  const int64_t *sizes = words.numbers(rank);
  const char *condition = words.address();
  const int64_t *conditionStrides = words.numbers(rank);
  DType dtype = words.dtype();
  const char *value = words.address();
  const int64_t *valueStrides = words.numbers(rank);
  Walk<2> walk(rank, sizes);
  walk.setStrides(0, conditionStrides);
  walk.setStrides(1, valueStrides);
  for (int64_t i = 0, count = product(sizes, rank); i < count; ++i, walk.advance()) {
    if (condition[walk.offsets[0]])
      continue;
    int64_t found = isFloat(dtype) ? int64_t(floatAt(value, walk.offsets[1], dtype))
                                   : integerAt(value, walk.offsets[1], dtype);
    if (env->failure && env->failure->program == INT64_MAX)
      *env->failure = {0, 0, found};
    return;
  }
}
