//===- Contract.cpp - Contractions by a blocked loop ----------------------===//
//
// A grid index is a tile of the result. Along K, blocks of both operands are packed into scratch
// memory, in the order in which the inner loop reads them; packing gathers by strides and converts
// narrow floats, so that any view of an operand will do. The inner loop keeps a small tile of the
// result in registers.
//
// Products with a vector, or with two, would mostly pack: the elements of the matrix are read once,
// where they are, by inner products or by sums of scaled rows.
//
//===----------------------------------------------------------------------===//
#include "Level.h"

#include "ContractTiles.h"

namespace tessera::ready::TESSERA_READY_LEVEL {

namespace {

#if defined(__AVX512F__)
constexpr int vectorBytes = 64, tileRows = 12;
#elif defined(__AVX__)
constexpr int vectorBytes = 32, tileRows = 6;
#elif defined(__aarch64__)
constexpr int vectorBytes = 16, tileRows = 12;
#else
constexpr int vectorBytes = 16, tileRows = 6;
#endif
constexpr int tileVectors = 2;

static_assert(contractRows % tileRows == 0);

/// A group of dimensions: their sizes, and an operand's strides over them.
struct Dims {
  int rank = 0;
  const int64_t *sizes = nullptr, *strides = nullptr;
  int64_t count = 1;

  int64_t offset(int64_t index) const {
    int64_t result = 0;
    for (int d = rank - 1; d >= 0; --d) {
      result += index % sizes[d] * strides[d];
      index /= sizes[d];
    }
    return result;
  }
  /// The offsets of n indices from `first`.
  void offsets(int64_t first, int64_t n, int64_t *to) const {
    for (int64_t i = 0; i < n;) {
      to[i] = offset(first + i);
      // Along the innermost dimension.
      int64_t run = rank ? sizes[rank - 1] - (first + i) % sizes[rank - 1] : 1;
      int64_t stride = rank ? strides[rank - 1] : 0, start = to[i];
      for (int64_t k = 1; k < run && i + k < n; ++k)
        to[i + k] = start + k * stride;
      i += run;
    }
  }
};

struct Operand {
  DType dtype;
  const char *address;
  int64_t bytes;
  LoadFunction load;
  Dims batch, free, inner;
};

struct Problem {
  Operand lhs, rhs;
  DType dtype;
  char *result;
  int64_t batch, m, n, k;
};

} // namespace

static Problem readProblem(const int64_t *args) {
  Problem problem;
  auto readOperand = [&](Operand &operand, int64_t dtype, int64_t address) {
    operand.dtype = DType(dtype);
    operand.address = reinterpret_cast<const char *>(address);
    operand.bytes = bytesOf(operand.dtype);
    operand.load = loadFunction(operand.dtype);
  };
  readOperand(problem.lhs, args[0], args[3]);
  readOperand(problem.rhs, args[1], args[4]);
  problem.dtype = DType(args[2]);
  problem.result = reinterpret_cast<char *>(args[5]);
  int ranks[4];
  for (int i = 0; i < 4; ++i)
    ranks[i] = int(args[6 + i]);
  const int64_t *next = args + 10, *sizes[4];
  int64_t counts[4];
  for (int i = 0; i < 4; ++i) {
    sizes[i] = next;
    counts[i] = 1;
    for (int d = 0; d < ranks[i]; ++d)
      counts[i] *= *next++;
  }
  auto readDims = [&](Dims &dims, int group) {
    dims = {ranks[group], sizes[group], next, counts[group]};
    next += ranks[group];
  };
  readDims(problem.lhs.batch, 0);
  readDims(problem.lhs.free, 1);
  readDims(problem.lhs.inner, 3);
  readDims(problem.rhs.batch, 0);
  readDims(problem.rhs.free, 2);
  readDims(problem.rhs.inner, 3);
  problem.batch = counts[0];
  problem.m = counts[1];
  problem.n = counts[2];
  problem.k = counts[3];
  return problem;
}

namespace {

/// The product of tiles in type T, of vectors V.
template <typename T> class Product {
public:
  static constexpr int lanes = vectorBytes / int(sizeof(T)), tileColumns = lanes * tileVectors;
  typedef T Vector __attribute__((vector_size(vectorBytes), aligned(alignof(T)), may_alias));

  Product(const Problem &problem, void *scratch)
      : problem(problem), packedLhs(static_cast<T *>(scratch)),
        packedRhs(packedLhs + contractRows * contractDepth),
        sums(packedRhs + contractDepth * contractColumns) {}

  void tile(int64_t batch, int64_t row, int64_t column) {
    rows = least(contractRows, problem.m - row);
    columns = least(contractColumns, problem.n - column);
    paddedRows = (rows + tileRows - 1) / tileRows * tileRows;
    paddedColumns = (columns + tileColumns - 1) / tileColumns * tileColumns;
    int64_t lhsBase = problem.lhs.batch.offset(batch), rhsBase = problem.rhs.batch.offset(batch);
    problem.lhs.free.offsets(row, rows, freeOffsets);
    int64_t rhsOffsets[contractColumns];
    problem.rhs.free.offsets(column, columns, rhsOffsets);
    bool isThin =
        columns <= mostVectors
            ? thin({problem.lhs, lhsBase, freeOffsets, rows, columns},
                   {problem.rhs, rhsBase, rhsOffsets, columns, 1})
            : rows <= mostVectors && thin({problem.rhs, rhsBase, rhsOffsets, columns, 1},
                                          {problem.lhs, lhsBase, freeOffsets, rows, columns});
    if (isThin) {
      paddedColumns = columns;
      return store(batch, row, column);
    }
    for (int64_t i = 0; i < paddedRows * paddedColumns; ++i)
      sums[i] = T(0);
    for (int64_t k = 0; k < problem.k; k += contractDepth) {
      int64_t depth = least(contractDepth, problem.k - k);
      problem.lhs.inner.offsets(k, depth, innerOffsets);
      pack(problem.lhs, lhsBase, freeOffsets, rows, depth, tileRows, packedLhs);
      problem.rhs.inner.offsets(k, depth, innerOffsets);
      pack(problem.rhs, rhsBase, rhsOffsets, columns, depth, tileColumns, packedRhs);
      for (int64_t j = 0; j < paddedColumns; j += tileColumns)
        for (int64_t i = 0; i < paddedRows; i += tileRows)
          multiply(packedLhs + i * depth, packedRhs + j * depth, sums + i * paddedColumns + j,
                   depth);
    }
    store(batch, row, column);
  }

private:
  static constexpr int64_t mostVectors = 2, pieceOfDepth = 512;

  /// The free indices of an operand in a tile, and the distance of their results.
  struct Side {
    const Operand &operand;
    int64_t base;
    const int64_t *offsets;
    int64_t count, step;
  };

  /// The product with few vectors; false if the matrix is dense neither along K nor across.
  bool thin(const Side &matrix, const Side &vectors) {
    int64_t offsets[pieceOfDepth], vectorOffsets[pieceOfDepth];
    T vector[pieceOfDepth], run[pieceOfDepth];
    bool isDenseFree = isRun(matrix.offsets, matrix.count, 1);
    for (int64_t i = 0; i < rows * columns; ++i)
      sums[i] = T(0);
    for (int64_t k = 0; k < problem.k; k += pieceOfDepth) {
      int64_t depth = least(pieceOfDepth, problem.k - k);
      matrix.operand.inner.offsets(k, depth, offsets);
      vectors.operand.inner.offsets(k, depth, vectorOffsets);
      bool isDenseInner = isRun(offsets, depth, 1);
      if (!isDenseInner && !isDenseFree)
        return false;
      for (int64_t v = 0; v < vectors.count; ++v) {
        int64_t from = vectors.base + vectors.offsets[v];
        for (int64_t p = 0; p < depth; ++p)
          vector[p] = *rowOf(vectors.operand, from + vectorOffsets[p], 1, 1, run);
        T *to = sums + v * vectors.step;
        if (isDenseInner)
          addInnerProducts(matrix, offsets[0], vector, depth, to, run);
        else
          addScaledRows(matrix, offsets, vector, depth, to, run);
      }
    }
    return true;
  }

  void addInnerProducts(const Side &matrix, int64_t first, const T *vector, int64_t depth, T *to,
                        T *run) {
    constexpr int parts = 4;
    for (int64_t i = 0; i < matrix.count; ++i) {
      const T *row = rowOf(matrix.operand, matrix.base + matrix.offsets[i] + first, 1, depth, run);
      Vector part[parts] = {};
      int64_t p = 0;
      for (; p + parts * lanes <= depth; p += parts * lanes)
#pragma clang loop unroll(full)
        for (int j = 0; j < parts; ++j)
          part[j] += *reinterpret_cast<const Vector *>(row + p + j * lanes) *
                     *reinterpret_cast<const Vector *>(vector + p + j * lanes);
      Vector total = (part[0] + part[1]) + (part[2] + part[3]);
      for (; p + lanes <= depth; p += lanes)
        total += *reinterpret_cast<const Vector *>(row + p) *
                 *reinterpret_cast<const Vector *>(vector + p);
      if (p < depth) {
        T rest[2][lanes] = {};
        for (int64_t j = 0; j < depth - p; ++j) {
          rest[0][j] = row[p + j];
          rest[1][j] = vector[p + j];
        }
        total +=
            *reinterpret_cast<const Vector *>(rest[0]) * *reinterpret_cast<const Vector *>(rest[1]);
      }
      T sums[lanes];
      *reinterpret_cast<Vector *>(sums) = total;
#pragma clang loop unroll(full)
      for (int half = lanes / 2; half > 0; half /= 2)
#pragma clang loop unroll(full)
        for (int j = 0; j < half; ++j)
          sums[j] += sums[j + half];
      to[i * matrix.step] += sums[0];
    }
  }

  /// Where the matrix is dense across K.
  void addScaledRows(const Side &matrix, const int64_t *offsets, const T *vector, int64_t depth,
                     T *to, T *run) {
    for (int64_t i = 0; i < matrix.count; i += pieceOfDepth) {
      int64_t count = least(pieceOfDepth, matrix.count - i);
      T total[pieceOfDepth];
      for (int64_t j = 0; j < count; ++j)
        total[j] = T(0);
      for (int64_t p = 0; p < depth; ++p) {
        const T *row =
            rowOf(matrix.operand, matrix.base + matrix.offsets[i] + offsets[p], 1, count, run);
        T scale = vector[p];
        for (int64_t j = 0; j < count; ++j)
          total[j] += scale * row[j];
      }
      for (int64_t j = 0; j < count; ++j)
        to[(i + j) * matrix.step] += total[j];
    }
  }

  /// Panels of `width` free indices: for each index of K, the elements at these.
  void pack(const Operand &operand, int64_t base, const int64_t *offsets, int64_t count,
            int64_t depth, int64_t width, T *to) {
    T run[contractColumns > contractDepth ? contractColumns : contractDepth];
    for (int64_t panel = 0; panel < count; panel += width, to += width * depth) {
      int64_t used = least(width, count - panel);
      bool isDenseFree = isRun(offsets + panel, used, 1),
           isDenseInner = isRun(innerOffsets, depth, 1);
      if (used < width)
        for (int64_t i = 0; i < width * depth; ++i)
          to[i] = T(0);
      if (isDenseInner && !isDenseFree) {
        packRows(operand, base + innerOffsets[0], offsets + panel, used, depth, width, to);
        continue;
      }
      for (int64_t p = 0; p < depth; ++p) {
        int64_t at = base + innerOffsets[p];
        if (isDenseFree) {
          const T *row = rowOf(operand, at + offsets[panel], 1, used, run);
          for (int64_t i = 0; i < used; ++i)
            to[p * width + i] = row[i];
          continue;
        }
        for (int64_t i = 0; i < used; ++i)
          to[p * width + i] = *rowOf(operand, at + offsets[panel + i], 1, 1, run);
      }
    }
  }

  /// Transposes rows along K, a few columns at a time, which stay in the cache.
  void packRows(const Operand &operand, int64_t base, const int64_t *offsets, int64_t used,
                int64_t depth, int64_t width, T *to) {
    constexpr int64_t columns = 16;
    T run[columns];
    for (int64_t p = 0; p < depth; p += columns) {
      int64_t count = least(columns, depth - p);
      for (int64_t i = 0; i < used; ++i) {
        const T *row = rowOf(operand, base + offsets[i] + p, 1, count, run);
        T *place = to + p * width + i;
        if (count == columns) {
#pragma clang loop unroll(full)
          for (int64_t k = 0; k < columns; ++k)
            place[k * width] = row[k];
        } else {
          for (int64_t k = 0; k < count; ++k)
            place[k * width] = row[k];
        }
      }
    }
  }

  static bool isRun(const int64_t *offsets, int64_t n, int64_t stride) {
    for (int64_t i = 1; i < n; ++i)
      if (offsets[i] - offsets[i - 1] != stride)
        return false;
    return true;
  }

  /// Elements as T: in memory, or loaded to `run`.
  static const T *rowOf(const Operand &operand, int64_t at, int64_t stride, int64_t n, T *run) {
    const char *memory = operand.address + at * operand.bytes;
    if constexpr (__is_same(T, int64_t)) {
      for (int64_t i = 0; i < n; ++i)
        run[i] = integerAt(operand, memory + i * stride * operand.bytes);
      return run;
    }
    if (operand.dtype == (sizeof(T) == 8 ? DType::FP64 : DType::FP32))
      return reinterpret_cast<const T *>(memory);
    operand.load(run, memory, stride, n);
    return run;
  }

  static int64_t integerAt(const Operand &operand, const char *memory) {
    int64_t value = 0;
    switch (operand.bytes) {
    case 8:
      return *reinterpret_cast<const int64_t *>(memory);
    case 4:
      return *reinterpret_cast<const int32_t *>(memory);
    case 2:
      return *reinterpret_cast<const int16_t *>(memory);
    default:
      value = operand.dtype == DType::Int8 ? *reinterpret_cast<const int8_t *>(memory)
                                           : *reinterpret_cast<const uint8_t *>(memory);
      return operand.dtype == DType::Bool ? value != 0 : value;
    }
  }

  void multiply(const T *a, const T *b, T *to, int64_t depth) {
    Vector c[tileRows][tileVectors];
#pragma clang loop unroll(full)
    for (int i = 0; i < tileRows; ++i)
#pragma clang loop unroll(full)
      for (int j = 0; j < tileVectors; ++j)
        c[i][j] = *reinterpret_cast<Vector *>(to + i * paddedColumns + j * lanes);
    for (int64_t p = 0; p < depth; ++p, a += tileRows, b += tileColumns) {
      Vector y[tileVectors];
#pragma clang loop unroll(full)
      for (int j = 0; j < tileVectors; ++j)
        y[j] = *reinterpret_cast<const Vector *>(b + j * lanes);
#pragma clang loop unroll(full)
      for (int i = 0; i < tileRows; ++i) {
        Vector x = a[i] - Vector{};
#pragma clang loop unroll(full)
        for (int j = 0; j < tileVectors; ++j)
          c[i][j] += x * y[j];
      }
    }
#pragma clang loop unroll(full)
    for (int i = 0; i < tileRows; ++i)
#pragma clang loop unroll(full)
      for (int j = 0; j < tileVectors; ++j)
        *reinterpret_cast<Vector *>(to + i * paddedColumns + j * lanes) = c[i][j];
  }

  void store(int64_t batch, int64_t row, int64_t column) {
    int64_t bytes = bytesOf(problem.dtype);
    StoreFunction put = storeFunction(problem.dtype);
    for (int64_t i = 0; i < rows; ++i) {
      const T *from = sums + i * paddedColumns;
      char *to = problem.result + ((batch * problem.m + row + i) * problem.n + column) * bytes;
      if constexpr (__is_same(T, int64_t))
        storeIntegers(from, to, bytes);
      else
        put(to, 1, from, columns);
    }
  }

  void storeIntegers(const int64_t *from, char *to, int64_t bytes) {
    for (int64_t j = 0; j < columns; ++j, to += bytes) {
      int64_t value = problem.dtype == DType::Bool ? from[j] & 1 : from[j];
      __builtin_memcpy(to, &value, size_t(bytes));
    }
  }

  const Problem &problem;
  T *packedLhs, *packedRhs, *sums;
  int64_t rows = 0, columns = 0, paddedRows = 0, paddedColumns = 0;
  int64_t freeOffsets[contractRows], innerOffsets[contractDepth];
};

template <typename T>
void contractAs(const Problem &problem, int64_t begin, int64_t end,
                const tessera_rt_kernel_env *env) {
  Product<T> product(problem, env->scratch);
  int64_t tilesN = (problem.n + contractColumns - 1) / contractColumns;
  int64_t tilesM = (problem.m + contractRows - 1) / contractRows;
  for (int64_t i = begin; i < end; ++i) {
    int64_t column = i % tilesN, rest = i / tilesN;
    product.tile(rest / tilesM, rest % tilesM * contractRows, column * contractColumns);
  }
}

} // namespace

void contract(const int64_t *args, int64_t begin, int64_t end, const tessera_rt_kernel_env *env) {
  Problem problem = readProblem(args);
  switch (computeOf(problem.dtype)) {
  case Compute::F64:
    return contractAs<double>(problem, begin, end, env);
  case Compute::F32:
    return contractAs<float>(problem, begin, end, env);
  default:
    return contractAs<int64_t>(problem, begin, end, env);
  }
}

} // namespace tessera::ready::TESSERA_READY_LEVEL
