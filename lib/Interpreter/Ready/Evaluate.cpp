//===- Evaluate.cpp - Expressions and reductions by blocks ----------------===//
//
// The iteration space is evaluated in blocks of consecutive points, so that the overhead of an
// instruction is shared and registers stay in the cache. A reduction folds each block: along rows,
// or, where neighbours in memory are different rows, many rows at once.
//
//===----------------------------------------------------------------------===//
#include "Level.h"

namespace tessera::ready::TESSERA_READY_LEVEL {

namespace {

/// Dimensions of consecutive points, outermost first.
struct Space {
  int rank = 0;
  int64_t sizes[maxRank];
  int64_t count = 1;
};

struct Leaf {
  LeafWord word;
  int64_t origin; // an address, the bits of a constant, or the value at index 0
  int64_t bytes;  // of an element in memory
  LoadFunction load;
  bool isDirect;            // the memory itself is the register
  bool isFilled;            // once for all blocks
  int64_t outer[maxRank];   // strides over the reduced dimensions where rows are folded at once
  int64_t strides[maxRank]; // over the dimensions of a block
};

struct Step {
  BlockFunction function; // null: by the definition of the operation
  Instruction instruction;
};

/// How a reduction combines. Accumulators of sums and products of floats along rows are double.
struct Monoid {
  ReduceOp op;
  Compute type;
};

class Evaluation {
public:
  Evaluation(const int64_t *args, const tessera_rt_kernel_env *env);
  /// Points of a map, or rows of a reduction.
  void run(int64_t begin, int64_t end);

private:
  int64_t next() { return *args++; }
  void readLeaf(Leaf &leaf);
  void readStep(Step &step);
  void collapse(Space &space);
  void prepareLeaves();
  /// Evaluates n points of the space from `first`, with the reduced indices' offsets `extra`.
  void block(int64_t first, int64_t n, const int64_t *extra);
  void fill(Leaf &leaf, int64_t first, int64_t n, int64_t extra);
  void fillIota(const Leaf &leaf, int64_t start, int64_t stride, int64_t at, int64_t n);
  void take(const Instruction &instruction, int64_t n);
  void store(int64_t first, int64_t n, const void *values);
  void runMap(int64_t begin, int64_t end);
  void foldRows(int64_t begin, int64_t end);
  void foldAtOnce(int64_t begin, int64_t end);
  template <typename T> void foldAtOnceAs(int64_t begin, int64_t end);
  bool hasNeighbouringRows() const;
  char *home(unsigned index) { return scratch + index * registerBytes; }

  const int64_t *args;
  char *scratch;
  Space space;       // of a block
  int rank, reduced; // of all dimensions
  int64_t sizes[maxRank];
  int64_t rowLength = 1; // points of a row
  Monoid monoid;
  unsigned result;
  DType dtype;
  char *address;
  int64_t resultStrides[maxRank];
  bool isDense = true; // the result
  StoreFunction storeResult;
  unsigned leafCount, stepCount;
  Leaf leaves[maxLeaves];
  Step steps[maxInstructions];
  void *registers[maxRegisters];
};

} // namespace

Evaluation::Evaluation(const int64_t *words, const tessera_rt_kernel_env *env)
    : args(words), scratch(static_cast<char *>(env->scratch)) {
  rank = int(next());
  reduced = int(next());
  monoid.op = ReduceOp(next());
  auto registerCount = unsigned(next());
  leafCount = unsigned(next());
  stepCount = unsigned(next());
  result = unsigned(next());
  dtype = DType(next());
  monoid.type = computeOf(dtype);
  storeResult = storeFunction(dtype);
  address = reinterpret_cast<char *>(next());
  for (int d = 0; d < rank - reduced; ++d)
    resultStrides[d] = next();
  for (int d = 0; d < rank; ++d)
    sizes[d] = next();
  for (int d = rank - reduced; d < rank; ++d)
    rowLength *= sizes[d];
  for (unsigned i = 0; i < registerCount; ++i)
    registers[i] = home(i);
  for (unsigned i = 0; i < leafCount; ++i)
    readLeaf(leaves[i]);
  for (unsigned i = 0; i < stepCount; ++i)
    readStep(steps[i]);
}

void Evaluation::readLeaf(Leaf &leaf) {
  leaf.word = LeafWord::decode(next());
  leaf.origin = next();
  leaf.bytes = bytesOf(leaf.word.dtype);
  leaf.load = loadFunction(leaf.word.dtype);
  for (int d = 0; d < rank; ++d)
    leaf.strides[d] = next();
}

void Evaluation::readStep(Step &step) {
  step.instruction = Instruction::decode(next());
  const Instruction &instruction = step.instruction;
  if (instruction.op < OpCast)
    step.function = blockFunction(ScalarOp(instruction.op), instruction.type);
  else if (instruction.op == OpCast)
    step.function = castFunction(Compute(instruction.c), instruction.type);
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

/// Drops dimensions of size 1 and merges neighbours that every stride passes through.
void Evaluation::collapse(Space &made) {
  int kept = 0;
  bool isMap = reduced == 0;
  auto joins = [&](int d) {
    int64_t size = made.sizes[d];
    for (unsigned i = 0; i < leafCount; ++i)
      if (leaves[i].strides[kept - 1] != leaves[i].strides[d] * size)
        return false;
    return !isMap || resultStrides[kept - 1] == resultStrides[d] * size;
  };
  auto assign = [&](int to, int from) {
    for (unsigned i = 0; i < leafCount; ++i)
      leaves[i].strides[to] = leaves[i].strides[from];
    if (isMap)
      resultStrides[to] = resultStrides[from];
  };
  for (int d = 0; d < made.rank; ++d) {
    made.count *= made.sizes[d];
    if (made.sizes[d] == 1)
      continue;
    if (kept && joins(d)) {
      made.sizes[kept - 1] *= made.sizes[d];
      assign(kept - 1, d);
      continue;
    }
    made.sizes[kept] = made.sizes[d];
    assign(kept++, d);
  }
  made.rank = kept;
}

void Evaluation::prepareLeaves() {
  for (unsigned i = 0; i < leafCount; ++i) {
    Leaf &leaf = leaves[i];
    bool isUniform = true, isContiguous = true;
    int64_t expected = 1;
    for (int d = space.rank; d-- > 0; expected *= space.sizes[d]) {
      isUniform = isUniform && leaf.strides[d] == 0;
      isContiguous = isContiguous && leaf.strides[d] == expected;
    }
    bool isPlain =
        leaf.word.dtype == dtypeOf(computeOf(leaf.word.dtype)) && leaf.word.dtype != DType::Bool;
    leaf.isDirect = leaf.word.kind == LeafWord::Memory && isContiguous && isPlain && space.rank;
    for (int d = 0; d < reduced; ++d)
      isUniform = isUniform && leaf.outer[d] == 0;
    leaf.isFilled = isUniform;
    if (isUniform && leaf.word.kind != LeafWord::Base)
      fill(leaf, 0, blockElements, 0);
  }
}

void Evaluation::fillIota(const Leaf &leaf, int64_t start, int64_t stride, int64_t at, int64_t n) {
  void *to = registers[leaf.word.destination];
  auto put = [&](auto *values) {
    using T = __remove_reference_t(decltype(*values));
    for (int64_t i = 0; i < n; ++i)
      values[at + i] = T(start + i * stride);
  };
  switch (computeOf(leaf.word.dtype)) {
  case Compute::F64:
    return put(static_cast<double *>(to));
  case Compute::F32:
    return put(static_cast<float *>(to));
  case Compute::I64:
    return put(static_cast<int64_t *>(to));
  case Compute::I32:
    return put(static_cast<int32_t *>(to));
  case Compute::I16:
    return put(static_cast<int16_t *>(to));
  case Compute::I8:
    return put(static_cast<int8_t *>(to));
  default:
    return put(static_cast<uint8_t *>(to));
  }
}

void Evaluation::fill(Leaf &leaf, int64_t first, int64_t n, int64_t extra) {
  char *to = static_cast<char *>(registers[leaf.word.destination]);
  const char *base = reinterpret_cast<const char *>(leaf.origin);
  int64_t width = widthOf(leaf.word.dtype);
  auto part = [&](int64_t offset, int64_t stride, int64_t at, int64_t count) {
    if (leaf.word.kind == LeafWord::Memory)
      leaf.load(to + at * width, base + (offset + extra) * leaf.bytes, stride, count);
    else if (leaf.word.kind == LeafWord::Iota)
      fillIota(leaf, leaf.origin + offset + extra, stride, at, count);
  };
  if (leaf.word.kind == LeafWord::Constant) {
    leaf.load(to, reinterpret_cast<const char *>(&leaf.origin), 0, n);
    return;
  }
  if (space.rank == 0 || leaf.isFilled)
    return part(0, 0, 0, n);
  int inner = space.rank - 1;
  int64_t index[maxRank], rest = first, offset = 0;
  for (int d = inner; d >= 0; --d) {
    index[d] = rest % space.sizes[d];
    rest /= space.sizes[d];
    offset += index[d] * leaf.strides[d];
  }
  for (int64_t at = 0; at < n;) {
    int64_t run = least(space.sizes[inner] - index[inner], n - at);
    part(offset, leaf.strides[inner], at, run);
    at += run;
    // To the start of the next run.
    offset -= index[inner] * leaf.strides[inner];
    index[inner] = 0;
    for (int d = inner - 1; d >= 0; --d) {
      offset += leaf.strides[d];
      if (++index[d] < space.sizes[d])
        break;
      offset -= leaf.strides[d] * space.sizes[d];
      index[d] = 0;
    }
  }
}

void Evaluation::take(const Instruction &instruction, int64_t n) {
  auto dtype = DType(instruction.c);
  const Leaf &base = leaves[instruction.b];
  const char *memory = reinterpret_cast<const char *>(base.origin);
  auto *offsets = static_cast<const int64_t *>(registers[instruction.a]);
  void *to = registers[instruction.destination];
  auto direct = [&](auto *values) {
    using T = __remove_reference_t(decltype(*values));
    auto *from = reinterpret_cast<const T *>(memory);
    for (int64_t i = 0; i < n; ++i)
      values[i] = from[offsets[i]];
  };
  switch (dtype) {
  case DType::FP64:
  case DType::Int64:
    return direct(static_cast<int64_t *>(to));
  case DType::FP32:
  case DType::Int32:
    return direct(static_cast<int32_t *>(to));
  default:
    break;
  }
  int64_t width = widthOf(dtype);
  for (int64_t i = 0; i < n; ++i)
    base.load(static_cast<char *>(to) + i * width, memory + offsets[i] * base.bytes, 1, 1);
}

void Evaluation::block(int64_t first, int64_t n, const int64_t *extra) {
  for (unsigned i = 0; i < leafCount; ++i) {
    Leaf &leaf = leaves[i];
    if (leaf.word.kind == LeafWord::Base || leaf.isFilled)
      continue;
    int64_t more = extra ? extra[i] : 0;
    if (leaf.isDirect)
      registers[leaf.word.destination] =
          reinterpret_cast<char *>(leaf.origin) + (first + more) * leaf.bytes;
    else
      fill(leaf, first, n, more);
  }
  for (unsigned i = 0; i < stepCount; ++i) {
    const Instruction &instruction = steps[i].instruction;
    void *to = registers[instruction.destination];
    if (instruction.op == OpTake) {
      take(instruction, n);
      continue;
    }
    if (instruction.op == OpNarrow) {
      narrowBlock(static_cast<float *>(to), static_cast<const double *>(registers[instruction.a]),
                  n);
      continue;
    }
    if (instruction.op == OpRound) {
      auto *from = static_cast<const float *>(registers[instruction.a]);
      auto *values = static_cast<float *>(to);
      for (int64_t k = 0; k < n; ++k)
        values[k] = from[k];
      roundBlock(values, DType(instruction.c), n);
      continue;
    }
    const void *operands[] = {registers[instruction.a], registers[instruction.b],
                              registers[instruction.c]};
    if (steps[i].function)
      steps[i].function(to, operands[0], operands[1], operands[2], n);
    else
      evaluateSlowly(ScalarOp(instruction.op), instruction.type, to, operands, n);
  }
}

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

void Evaluation::store(int64_t first, int64_t n, const void *values) {
  int64_t bytes = bytesOf(dtype);
  if (isDense)
    return storeResult(address + first * bytes, 1, values, n);
  int64_t width = widthOf(dtype);
  int inner = space.rank - 1;
  int64_t index[maxRank], rest = first, offset = 0;
  for (int d = inner; d >= 0; --d) {
    index[d] = rest % space.sizes[d];
    rest /= space.sizes[d];
    offset += index[d] * resultStrides[d];
  }
  for (int64_t at = 0; at < n;) {
    int64_t run = least(space.sizes[inner] - index[inner], n - at);
    storeResult(address + offset * bytes, resultStrides[inner],
                static_cast<const char *>(values) + at * width, run);
    at += run;
    offset -= index[inner] * resultStrides[inner];
    index[inner] = 0;
    for (int d = inner - 1; d >= 0; --d) {
      offset += resultStrides[d];
      if (++index[d] < space.sizes[d])
        break;
      offset -= resultStrides[d] * space.sizes[d];
      index[d] = 0;
    }
  }
}

void Evaluation::runMap(int64_t begin, int64_t end) {
  space.rank = rank;
  for (int d = 0; d < rank; ++d)
    space.sizes[d] = sizes[d];
  collapse(space);
  int64_t expected = 1;
  for (int d = space.rank; d-- > 0; expected *= space.sizes[d])
    isDense = isDense && resultStrides[d] == expected;
  prepareLeaves();
  int64_t last = least(end * blockElements, space.count);
  // The last instruction may write the result itself.
  bool isPlain = isDense && dtype == dtypeOf(computeOf(dtype));
  bool writes = isPlain && stepCount && steps[stepCount - 1].instruction.destination == result;
  int64_t bytes = bytesOf(dtype);
  for (int64_t first = begin * blockElements; first < last; first += blockElements) {
    int64_t n = least(blockElements, last - first);
    if (writes)
      registers[result] = address + first * bytes;
    block(first, n, nullptr);
    if (!writes)
      store(first, n, registers[result]);
  }
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

namespace {

template <typename T> struct Traits;
#define READY_TRAITS(T, WIDE, LOW, HIGH)                                                           \
  template <> struct Traits<T> {                                                                   \
    using Wide = WIDE;                                                                             \
    static constexpr T low = LOW, high = HIGH;                                                     \
  };
READY_TRAITS(double, double, -__builtin_inf(), __builtin_inf())
READY_TRAITS(float, double, -__builtin_inff(), __builtin_inff())
READY_TRAITS(int64_t, int64_t, INT64_MIN, INT64_MAX)
READY_TRAITS(int32_t, int64_t, INT32_MIN, INT32_MAX)
READY_TRAITS(int16_t, int64_t, INT16_MIN, INT16_MAX)
READY_TRAITS(int8_t, int64_t, INT8_MIN, INT8_MAX)
READY_TRAITS(uint8_t, int64_t, 0, UINT8_MAX)
#undef READY_TRAITS

/// Bools combine as `or` and `and`.
ReduceOp operationOn(Monoid monoid) {
  if (monoid.op == ReduceOp::Any || (monoid.type == Compute::B8 && monoid.op == ReduceOp::Sum))
    return ReduceOp::Max;
  if (monoid.op == ReduceOp::All || (monoid.type == Compute::B8 && monoid.op == ReduceOp::Prod))
    return ReduceOp::Min;
  return monoid.op;
}

template <typename T, typename Wide> Wide identityOf(ReduceOp op, bool isBool) {
  switch (op) {
  case ReduceOp::Prod:
    return Wide(1);
  case ReduceOp::Max:
    return Wide(Traits<T>::low);
  case ReduceOp::Min:
    return isBool ? Wide(1) : Wide(Traits<T>::high);
  default:
    return Wide(0);
  }
}

template <typename T> T larger(T x, T y) { return x > y || x != x ? x : y; }
template <typename T> T smaller(T x, T y) { return x < y || x != x ? x : y; }

/// Combines with several accumulators, so that clang vectorizes.
template <typename T, typename Combine>
T combineLanes(const T *x, int64_t n, T start, Combine combine) {
  constexpr int lanes = 64 / sizeof(T) * 2;
  T sums[lanes];
  for (int k = 0; k < lanes; ++k)
    sums[k] = start;
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (int k = 0; k < lanes; ++k)
      sums[k] = combine(sums[k], x[i + k]);
  for (int k = lanes / 2; k > 0; k /= 2)
    for (int j = 0; j < k; ++j)
      sums[j] = combine(sums[j], sums[j + k]);
  for (; i < n; ++i)
    sums[0] = combine(sums[0], x[i]);
  return sums[0];
}

/// The largest (or smallest) element; a NaN if there is one.
template <typename T, bool isMax> T extreme(const T *x, int64_t n, T start) {
  T value = combineLanes(x, n, start, [](T a, T b) {
    if constexpr (isMax)
      return b > a ? b : a;
    else
      return b < a ? b : a;
  });
  if constexpr (T(0.5) != T(0)) {
    int64_t nans = 0;
    for (int64_t i = 0; i < n; ++i)
      nans += x[i] != x[i];
    if (nans)
      return T(__builtin_nan(""));
  }
  return value;
}

template <typename T>
typename Traits<T>::Wide foldRow(ReduceOp op, const T *x, int64_t n, typename Traits<T>::Wide sum) {
  using Wide = typename Traits<T>::Wide;
  switch (op) {
  case ReduceOp::Sum:
    return sum + Wide(combineLanes(x, n, T(0), [](T a, T b) { return T(a + b); }));
  case ReduceOp::Prod:
    for (int64_t i = 0; i < n; ++i)
      sum *= Wide(x[i]);
    return sum;
  case ReduceOp::Max:
    return larger(sum, Wide(extreme<T, true>(x, n, T(Traits<T>::low))));
  default:
    return smaller(sum, Wide(extreme<T, false>(x, n, T(Traits<T>::high))));
  }
}

template <typename T> void foldInto(ReduceOp op, T *sums, const T *x, int64_t n) {
  switch (op) {
  case ReduceOp::Sum:
    for (int64_t i = 0; i < n; ++i)
      sums[i] = T(sums[i] + x[i]);
    return;
  case ReduceOp::Prod:
    for (int64_t i = 0; i < n; ++i)
      sums[i] = T(sums[i] * x[i]);
    return;
  case ReduceOp::Max:
    for (int64_t i = 0; i < n; ++i)
      sums[i] = larger(sums[i], x[i]);
    return;
  default:
    for (int64_t i = 0; i < n; ++i)
      sums[i] = smaller(sums[i], x[i]);
  }
}

} // namespace

/// Whether some operand's neighbours in memory are in different rows.
bool Evaluation::hasNeighbouringRows() const {
  int row = rank - reduced - 1, column = rank - 1;
  while (row >= 0 && sizes[row] == 1)
    --row;
  while (column >= rank - reduced && sizes[column] == 1)
    --column;
  if (row < 0 || column < rank - reduced || sizes[row] < 8)
    return false;
  for (unsigned i = 0; i < leafCount; ++i)
    if (leaves[i].word.kind == LeafWord::Memory && leaves[i].strides[row] == 1 &&
        leaves[i].strides[column] != 1 && leaves[i].strides[column] != 0)
      return true;
  return false;
}

/// The rows of a reduction, point by point of the whole space.
void Evaluation::foldRows(int64_t begin, int64_t end) {
  space.rank = rank;
  for (int d = 0; d < rank; ++d)
    space.sizes[d] = sizes[d];
  for (unsigned i = 0; i < leafCount; ++i)
    for (int d = 0; d < reduced; ++d)
      leaves[i].outer[d] = 0;
  collapse(space);
  prepareLeaves();
  ReduceOp op = operationOn(monoid);
  bool isBool = monoid.type == Compute::B8;
  int64_t bytes = bytesOf(dtype);
  auto foldAs = [&](auto *typed) {
    using T = __remove_reference_t(decltype(*typed));
    using Wide = typename Traits<T>::Wide;
    auto put = [&](int64_t row, Wide value) {
      T narrow = T(value);
      storeResult(address + row * bytes, 1, &narrow, 1);
    };
    int64_t together = rowLength ? blockElements / rowLength : 0;
    for (int64_t row = begin; row < end;) {
      if (together > 1) {
        int64_t rows = least(together, end - row);
        block(row * rowLength, rows * rowLength, nullptr);
        auto *values = static_cast<const T *>(registers[result]);
        for (int64_t i = 0; i < rows; ++i)
          put(row + i,
              foldRow<T>(op, values + i * rowLength, rowLength, identityOf<T, Wide>(op, isBool)));
        row += rows;
        continue;
      }
      Wide sum = identityOf<T, Wide>(op, isBool);
      for (int64_t at = 0; at < rowLength; at += blockElements) {
        int64_t n = least(blockElements, rowLength - at);
        block(row * rowLength + at, n, nullptr);
        sum = foldRow<T>(op, static_cast<const T *>(registers[result]), n, sum);
      }
      put(row++, sum);
    }
  };
  switch (monoid.type) {
  case Compute::F64:
    return foldAs(static_cast<double *>(nullptr));
  case Compute::F32:
    return foldAs(static_cast<float *>(nullptr));
  case Compute::I64:
    return foldAs(static_cast<int64_t *>(nullptr));
  case Compute::I32:
    return foldAs(static_cast<int32_t *>(nullptr));
  case Compute::I16:
    return foldAs(static_cast<int16_t *>(nullptr));
  case Compute::I8:
    return foldAs(static_cast<int8_t *>(nullptr));
  default:
    return foldAs(static_cast<uint8_t *>(nullptr));
  }
}

/// Blocks of rows: one point of each after the other. Several blocks at once read longer runs.
template <typename T> void Evaluation::foldAtOnceAs(int64_t begin, int64_t end) {
  constexpr int64_t together = 8 * blockElements;
  ReduceOp op = operationOn(monoid);
  T identity = identityOf<T, T>(op, monoid.type == Compute::B8);
  alignas(64) T sums[together];
  int64_t bytes = bytesOf(dtype);
  for (int64_t row = begin; row < end; row += together) {
    int64_t n = least(together, end - row);
    for (int64_t i = 0; i < n; ++i)
      sums[i] = identity;
    int64_t index[maxRank] = {}, extra[maxLeaves] = {};
    for (int64_t k = 0; k < rowLength; ++k) {
      for (int64_t at = 0; at < n; at += blockElements) {
        int64_t count = least(blockElements, n - at);
        block(row + at, count, extra);
        foldInto<T>(op, sums + at, static_cast<const T *>(registers[result]), count);
      }
      for (int d = reduced - 1; d >= 0; --d) {
        int64_t size = sizes[rank - reduced + d];
        bool isLast = ++index[d] == size;
        for (unsigned i = 0; i < leafCount; ++i)
          extra[i] += leaves[i].outer[d] * (isLast ? 1 - size : 1);
        if (!isLast)
          break;
        index[d] = 0;
      }
    }
    storeResult(address + row * bytes, 1, sums, n);
  }
}

void Evaluation::foldAtOnce(int64_t begin, int64_t end) {
  space.rank = rank - reduced;
  for (int d = 0; d < space.rank; ++d)
    space.sizes[d] = sizes[d];
  for (unsigned i = 0; i < leafCount; ++i)
    for (int d = 0; d < reduced; ++d)
      leaves[i].outer[d] = leaves[i].strides[space.rank + d];
  collapse(space);
  prepareLeaves();
  switch (monoid.type) {
  case Compute::F64:
    return foldAtOnceAs<double>(begin, end);
  case Compute::F32:
    return foldAtOnceAs<float>(begin, end);
  case Compute::I64:
    return foldAtOnceAs<int64_t>(begin, end);
  case Compute::I32:
    return foldAtOnceAs<int32_t>(begin, end);
  case Compute::I16:
    return foldAtOnceAs<int16_t>(begin, end);
  case Compute::I8:
    return foldAtOnceAs<int8_t>(begin, end);
  default:
    return foldAtOnceAs<uint8_t>(begin, end);
  }
}

void Evaluation::run(int64_t begin, int64_t end) {
  if (reduced == 0)
    return runMap(begin, end);
  if (rowLength && hasNeighbouringRows())
    return foldAtOnce(begin, end);
  return foldRows(begin, end);
}

void evaluate(const int64_t *args, int64_t begin, int64_t end, const tessera_rt_kernel_env *env) {
  Evaluation(args, env).run(begin, end);
}

} // namespace tessera::ready::TESSERA_READY_LEVEL

#define READY_KERNELS_NAME_(level) kernels_##level
#define READY_KERNELS_NAME(level) READY_KERNELS_NAME_(level)

namespace tessera::ready {
extern const LevelKernels READY_KERNELS_NAME(TESSERA_READY_LEVEL);
const LevelKernels READY_KERNELS_NAME(TESSERA_READY_LEVEL) = {TESSERA_READY_LEVEL::evaluate,
                                                              TESSERA_READY_LEVEL::contract};
} // namespace tessera::ready
