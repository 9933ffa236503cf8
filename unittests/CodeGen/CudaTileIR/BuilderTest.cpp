//===- BuilderTest.cpp - Modules made by the builder ----------------------===//
//
// Every kernel is verified, written in all formats, read back, and assembled for all architectures
// where tileiras is installed.
//
//===----------------------------------------------------------------------===//
#include "tessera/CodeGen/CudaTileIR/Bytecode/Builder.h"
#include "tessera/CodeGen/CudaTileIR/Bytecode/Assembler.h"
#include "tessera/Target/Chips.h"
#include <gtest/gtest.h>
#include <limits>

using namespace tessera::cudatile;
using Values = Builder::Values;

/// y = x + y over run-time sizes, in blocks of 1024.
static Module vectorAdd(Version version) {
  Builder b(version);
  Type pointer = b.tile(b.pointer(b.element(TypeKind::F32)), {});
  Type size = b.tile(TypeKind::I32, {});
  Values args = b.beginEntry("vector_add", {pointer, pointer, pointer, size});
  Value n = b.assumeBounded(args[3], 0);
  Values views;
  for (int i = 0; i < 3; ++i) {
    Value base = b.assumeDivisible(args[i], 16);
    views.push_back(b.partition(b.tensorView(base, {kDynamic}, {1}, {n}), {1024}));
  }
  Value i = b.blockId()[0];
  b.store(b.add(b.load(views[0], {i}).tile, b.load(views[1], {i}).tile), views[2], {i});
  b.endEntry();
  return b.take();
}

/// C = A * B with f32 accumulators and static sizes.
static Module gemm(Version version) {
  constexpr int64_t M = 1024, N = 1024, K = 512, TM = 64, TN = 64, TK = 32;
  Builder b(version);
  Type pointer = b.tile(b.pointer(b.element(TypeKind::BF16)), {});
  Values args =
      b.beginEntry("gemm", {pointer, pointer, pointer}, {{"default", {.workerWarps = 4}}});
  Value token = b.makeToken();
  auto view = [&](Value base, int64_t rows, int64_t columns, Builder::Shape tile) {
    base = b.assumeDivisible(base, 16);
    return b.partition(b.tensorView(base, {rows, columns}, {columns, 1}), tile, {}, Padding::Zero);
  };
  Value a = view(args[0], M, K, {TM, TK}), w = view(args[1], K, N, {TK, TN}),
        c = view(args[2], M, N, {TM, TN});
  auto [x, y, z] = b.blockId();
  Value zero = b.constant(b.tile(TypeKind::F32, {TM, TN}), 0.0);
  Values sums = b.forLoop(b.i32(0), b.i32(K / TK), b.i32(1), {zero}, [&](const Values &arguments) {
    Value lhs = b.load(a, {y, arguments[0]}, token, {.latency = 4}).tile;
    Value rhs = b.load(w, {arguments[0], x}, token).tile;
    return Values{b.mma(lhs, rhs, arguments[1])};
  });
  b.store(b.convert(sums[0], TypeKind::BF16), c, {y, x}, token);
  b.endEntry();
  return b.take();
}

/// A softmax of rows in a loop over column tiles, the tail masked.
static Module softmax(Version version) {
  constexpr int64_t R = 16, C = 128;
  double inf = std::numeric_limits<double>::infinity();
  Builder b(version);
  Type pointer = b.tile(b.pointer(b.element(TypeKind::F16)), {}), size = b.tile(TypeKind::I32, {});
  Values args = b.beginEntry("softmax", {pointer, pointer, size, size});
  auto view = [&](Value base) {
    Value tensor =
        b.tensorView(base, {kDynamic, kDynamic}, {kDynamic, 1}, {args[2], args[3]}, {args[3]});
    return b.partition(tensor, {R, C}, {}, Padding::NegInf);
  };
  Value x = view(args[0]), y = view(args[1]);
  Value row = b.blockId()[0];
  Value tiles = b.ceilDiv(args[3], b.i32(C));
  Type rowType = b.tile(TypeKind::F32, {R});
  auto read = [&](Value j) { return b.convert(b.load(x, {row, j}).tile, TypeKind::F32); };
  auto perRow = [&](Value v) { return b.broadcastInDims(v, {R, C}, {0}); };
  Values state = b.forLoop(
      b.i32(0), tiles, b.i32(1), {b.constant(rowType, -inf), b.constant(rowType, 0.0)},
      [&](const Values &in) {
        Value t = read(in[0]);
        Value top =
            b.reduce({t}, 1, {-inf}, [&](const Values &e) { return Values{b.max(e[0], e[1])}; })[0];
        top = b.max(top, in[1]);
        Value e = b.elementwise(Opcode::Exp, {b.sub(t, perRow(top))});
        Value sum =
            b.reduce({e}, 1, {0.0}, [&](const Values &p) { return Values{b.add(p[0], p[1])}; })[0];
        Value scale = b.elementwise(Opcode::Exp, {b.sub(in[1], top)});
        return Values{top, b.fma(in[2], scale, sum)};
      });
  b.forLoop(b.i32(0), tiles, b.i32(1), {}, [&](const Values &in) {
    Value e = b.elementwise(Opcode::Exp, {b.sub(read(in[0]), perRow(state[0]))});
    b.store(b.convert(b.div(e, perRow(state[1])), TypeKind::F16), y, {row, in[0]});
    return Values{};
  });
  b.endEntry();
  return b.take();
}

/// Integers, pointers with a mask, both branches, an endless loop that breaks, a scan.
static Module misc(Version version) {
  constexpr int64_t N = 64;
  Builder b(version);
  Type pointer = b.tile(b.pointer(b.element(TypeKind::I32)), {}), size = b.tile(TypeKind::I32, {});
  Values args =
      b.beginEntry("misc", {pointer, pointer, size},
                   {{"sm_90", {.clusterSize = 2, .occupancy = 2}}, {"default", {.occupancy = 1}}});
  Value i = b.iota(TypeKind::I32, N);
  Value n = b.broadcastInDims(args[2], {N}, {});
  Value mask = b.compare(Predicate::Less, i, n);
  auto at = [&](Value base) { return b.offset(b.broadcast(b.reshape(base, {1}), {N}), i); };
  auto [t, read] = b.loadPointers(at(args[0]), mask, b.constantInt(b.tile(TypeKind::I32, {N}), 7));
  Value scanned =
      b.scan({t}, 0, false, {0.0}, [&](const Values &e) { return Values{b.add(e[0], e[1])}; })[0];
  Value parity = b.compare(Predicate::Equal, b.rem(args[2], b.i32(2)), b.i32(0));
  Value chosen = b.ifElse(
      parity, {b.typeOf(t)}, [&] { return Values{b.floorDiv(scanned, b.max(i, n))}; },
      [&] { return Values{b.abs(b.neg(scanned))}; })[0];
  Value counted = b.loop({b.i32(0), chosen}, {b.typeOf(chosen)}, [&](const Values &in) {
    Value done = b.compare(Predicate::GreaterOrEqual, in[0], args[2]);
    b.ifElse(
        done, {},
        [&] {
          b.breakLoop({in[1]});
          return Values{};
        },
        [&] { return Values{}; });
    b.continueLoop({b.add(in[0], b.i32(1)), b.add(in[1], i)});
  })[0];
  Value turned = b.reshape(b.permute(b.reshape(t, {8, N / 8}), {1, 0}), {N});
  Value merged =
      b.cat(b.extract(counted, {N / 2}, {b.i32(1)}), b.extract(turned, {N / 2}, {b.i32(0)}), 0);
  Value bits = b.bitcast(b.convert(merged, TypeKind::F32), TypeKind::I32);
  Value flags = b.convert(b.convert(b.convert(bits, TypeKind::I64), TypeKind::I1), TypeKind::I32);
  b.storePointers(at(args[1]), b.select(mask, flags, bits), mask, b.joinTokens({read}));
  b.endEntry();
  return b.take();
}

/// MMA of 8-bit types, and types that the assembler must know.
static Module products(Version version) {
  constexpr int64_t N = 64;
  Builder b(version);
  auto pointer = [&](TypeKind kind) { return b.tile(b.pointer(b.element(kind)), {}); };
  Values args = b.beginEntry("products", {pointer(TypeKind::I8), pointer(TypeKind::I32),
                                          pointer(TypeKind::F32), pointer(TypeKind::F64)});
  auto view = [&](Value base) { return b.partition(b.tensorView(base, {N, N}, {N, 1}), {N, N}); };
  Value zero = b.i32(0);
  Value i = b.load(view(args[0]), {zero, zero}).tile;
  b.store(b.mma(i, i, b.constantInt(b.tile(TypeKind::I32, {N, N}), 0)), view(args[1]),
          {zero, zero});
  Value f = b.convert(b.load(view(args[2]), {zero, zero}).tile, TypeKind::TF32);
  Value product = b.mma(f, f, b.constant(b.tile(TypeKind::F32, {N, N}), 0.5));
  b.store(product, view(args[2]), {zero, zero});
  Value d = b.convert(product, TypeKind::F64);
  Value best = b.reduce({d}, 1, {-std::numeric_limits<double>::infinity()},
                        [&](const Values &e) { return Values{b.max(e[0], e[1])}; })[0];
  b.store(b.add(d, b.broadcastInDims(best, {N, N}, {0})), view(args[3]), {zero, zero});
  b.endEntry();
  return b.take();
}

using Make = Module (*)(Version);
static constexpr std::pair<const char *, Make> kKernels[] = {{"vector_add", vectorAdd},
                                                             {"gemm", gemm},
                                                             {"softmax", softmax},
                                                             {"misc", misc},
                                                             {"products", products}};

class CudaTileBuilder : public testing::TestWithParam<std::pair<const char *, Make>> {};

TEST_P(CudaTileBuilder, WritesEveryFormat) {
  for (uint8_t minor = 1; minor <= kNewestMinor; ++minor) {
    Module module = GetParam().second({13, minor});
    ASSERT_EQ(verifyModule(module).value_or(""), "") << printModule(module);
    std::string error;
    auto bytes = writeModule(module, error);
    ASSERT_TRUE(bytes) << error;
    auto again = readModule(*bytes, error);
    ASSERT_TRUE(again) << error;
    EXPECT_EQ(*writeModule(*again, error), *bytes);
  }
}

TEST_P(CudaTileBuilder, Assembles) {
  std::string error;
  auto tileiras = findTileiras(error);
  if (!tileiras)
    GTEST_SKIP() << "unsupported: tileiras is not installed: " << error;
  for (uint8_t minor = 1; minor <= tileiras->newestFormat.minor; ++minor) {
    auto bytes = writeModule(GetParam().second({13, minor}), error);
    // Every architecture in the default format, one in the others; two generations for the larger
    // kernels.
    for (const tessera::Chip &chip : tessera::chips()) {
      if (!chip.features.has(tessera::GpuFeature::TileIR))
        continue;
      std::string architecture = chip.name();
      bool isSmall = GetParam().second == vectorAdd || GetParam().second == gemm;
      bool isCommon = architecture == "sm_90" || (minor == Version().minor && isSmall);
      if (!isCommon && !(minor == Version().minor && architecture == "sm_120"))
        continue;
      auto cubin = assemble(*tileiras, *bytes, {.architecture = architecture}, error);
      ASSERT_TRUE(cubin) << "13." << int(minor) << ": " << error
                         << printModule(GetParam().second({13, minor}));
      EXPECT_GT(cubin->bytes.size(), 1000u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, CudaTileBuilder, testing::ValuesIn(kKernels),
                         [](auto &info) { return std::string(info.param.first); });

TEST(CudaTileBuilderText, VectorAdd) {
  EXPECT_EQ(printModule(vectorAdd({})), R"(cuda_tile.module 13.3 {
  entry @vector_add(%0: tile<ptr<f32>>, %1: tile<ptr<f32>>, %2: tile<ptr<f32>>, %3: tile<i32>) {
    %4 = assume %3 {bounded<0, ?>} : tile<i32>
    %5 = assume %0 {div_by<16>} : tile<ptr<f32>>
    %6 = make_tensor_view base %5 dynamic_shape [%4] : tensor_view<?xf32, strides=[1]>
    %7 = make_partition_view %6 : partition_view<tile=(1024), dim_map=[0], tensor_view<?xf32, strides=[1]>>
    %8 = assume %1 {div_by<16>} : tile<ptr<f32>>
    %9 = make_tensor_view base %8 dynamic_shape [%4] : tensor_view<?xf32, strides=[1]>
    %10 = make_partition_view %9 : partition_view<tile=(1024), dim_map=[0], tensor_view<?xf32, strides=[1]>>
    %11 = assume %2 {div_by<16>} : tile<ptr<f32>>
    %12 = make_tensor_view base %11 dynamic_shape [%4] : tensor_view<?xf32, strides=[1]>
    %13 = make_partition_view %12 : partition_view<tile=(1024), dim_map=[0], tensor_view<?xf32, strides=[1]>>
    %14, %15, %16 = get_tile_block_id : tile<i32>, tile<i32>, tile<i32>
    %17, %18 = load_view_tko view %7 index [%14] {weak} : tile<1024xf32>, token
    %19, %20 = load_view_tko view %10 index [%14] {weak} : tile<1024xf32>, token
    %21 = addf %17, %19 : tile<1024xf32>
    %22 = store_view_tko tile %21 view %13 index [%14] {weak} : token
    return
  }
}
)");
}

TEST(CudaTileVerifier, FindsMistakes) {
  auto errorOf = [](auto &&make) {
    Builder b;
    Values args = b.beginEntry("k", {b.tile(TypeKind::F32, {}), b.tile(TypeKind::F32, {4})});
    make(b, args);
    b.endEntry();
    return verifyModule(b.take()).value_or("");
  };
  EXPECT_EQ(errorOf([](Builder &b, Values &args) { b.add(args[0], args[1]); }),
            "'addf' in 'k': expected 'tile<f32>', got 'tile<4xf32>'");
  EXPECT_EQ(errorOf([](Builder &b, Values &args) { b.reshape(args[1], {3}); }),
            "expected tile sizes that are powers of two, got 3");
  EXPECT_EQ(errorOf([](Builder &b, Values &args) { b.select(args[1], args[1], args[1]); }),
            "'select' in 'k': expected an i1 tile of the result's shape, got 'tile<4xf32>'");
  EXPECT_EQ(errorOf([](Builder &b, Values &args) {
              Value inner;
              b.forLoop(b.i32(0), b.i32(1), b.i32(1), {}, [&](const Values &) {
                inner = b.neg(args[0]);
                return Values{};
              });
              b.neg(inner);
            }),
            "'negf' in 'k': operand 'source' is not defined here");
}

TEST(CudaTileWriter, SaysWhatAFormatLacks) {
  Builder b({13, 1});
  Values args = b.beginEntry("k", {b.tile(TypeKind::F32, {4})});
  b.elementwise(Opcode::Atan2, {args[0], args[0]});
  b.endEntry();
  std::string error;
  EXPECT_FALSE(writeModule(b.module(), error));
  EXPECT_EQ(error, "'atan2' needs format 13.2, got 13.1");
}
