//===- Chips.cpp - The table of GPUs --------------------------------------===//
//
// One entry per chip. Numbers are the vendor's unless they are marked otherwise: limits of an SM
// from the CUDA C++ Programming Guide, SM counts, caches and rates from the product's data sheet.
// Rates are without sparsity. Measured numbers stand beside the vendor's, not in their place.
//
//===----------------------------------------------------------------------===//
#include "tessera/Target/Chips.h"

namespace tessera {

using enum GpuFeature;

// Each generation has the features of the one before. Hopper and both Blackwells differ only in how
// their tensor cores are programmed, so they extend a common set.
static constexpr GpuFeatureSet kVolta{MmaFp16};
static constexpr GpuFeatureSet kTuring = kVolta | GpuFeatureSet{Ldmatrix, Tanh, MmaFp16K8, MmaInt8};
static constexpr GpuFeatureSet kAmpere =
    kTuring | GpuFeatureSet{TileIR,     CpAsync, CachePolicies, Mbarrier,   Bf16Arithmetic,
                            MmaFp16K16, MmaBf16, MmaTf32,       MmaInt8M16, MmaFp64};
static constexpr GpuFeatureSet kAda = kAmpere | GpuFeatureSet{Fp8Conversion, MmaFp8};
static constexpr GpuFeatureSet kWithClusters =
    kAda | GpuFeatureSet{Clusters, Tma, SetMaxNReg, Stmatrix, TileIRFp8, MmaFp64M16, MmaFp8Fp32};
static constexpr GpuFeatureSet kHopper = kWithClusters | GpuFeatureSet{Wgmma};
static constexpr GpuFeatureSet kBlackwell =
    kWithClusters | GpuFeatureSet{TileIRFp8Mma, TensorMemory};
static constexpr GpuFeatureSet kBlackwellRtx =
    kWithClusters | GpuFeatureSet{TileIRFp8Mma, MmaFp6Fp4};

static constexpr Sourced<int64_t> kilobytes(int64_t count) { return {count << 10}; }
static constexpr Sourced<int64_t> megabytes(int64_t count) { return {count << 20}; }

static constexpr Chip kChips[] = {
    {.number = 70,
     .product = "V100 SXM2",
     .ptxName = "sm_70",
     .ptxVersion = 80,
     .lastCuda = 1209, // CUDA 13 dropped Volta
     .features = kVolta,
     .sm = {.count = {80},
            .warps = {64},
            .ctas = {32},
            .sharedBytes = kilobytes(96),
            .sharedBytesPerCta = kilobytes(96)},
     .l2Bytes = megabytes(6),
     .peak = {.bytes = {0.9},
              .vector = {15.7},
              .mma8 = derived(63), // dp4a: 4 × vector; tensor cores have no int8
              .mma16 = {125},
              .tf32 = derived(15.7), // vector: tensor cores have no tf32
              .mma64 = {7.8}}},
    {.number = 75,
     .product = "T4",
     .ptxName = "sm_75",
     .ptxVersion = 80,
     .features = kTuring,
     .sm = {.count = {40},
            .warps = {32},
            .ctas = {16},
            .sharedBytes = kilobytes(64),
            .sharedBytesPerCta = kilobytes(64)},
     .l2Bytes = megabytes(4),
     .peak = {.bytes = {0.32},
              .vector = {8.1},
              .mma8 = {130},
              .mma16 = {65},
              .tf32 = derived(8.1),     // vector: tensor cores have no tf32
              .mma64 = derived(0.25)}}, // vector / 32
    {.number = 80,
     .product = "A100 SXM 80 GB",
     .ptxName = "sm_80",
     .ptxVersion = 80,
     .features = kAmpere,
     .sm = {.count = {108},
            .warps = {64},
            .ctas = {32},
            .sharedBytes = kilobytes(164),
            .sharedBytesPerCta = kilobytes(163)},
     .l2Bytes = megabytes(40),
     .peak = {.bytes = {2.0},
              .vector = {19.5},
              .mma8 = {624},
              .mma16 = {312},
              .tf32 = {156},
              .mma64 = {9.7}}}, // on the CUDA cores; tensor cores have 19.5
    {.number = 86,
     .product = "A40",
     .ptxName = "sm_86",
     .ptxVersion = 80,
     .features = kAmpere,
     .sm = {.count = {84},
            .warps = {48},
            .ctas = {16},
            .sharedBytes = kilobytes(100),
            .sharedBytesPerCta = kilobytes(99)},
     .l2Bytes = megabytes(6),
     .peak = {.bytes = {0.7},
              .vector = {37},
              .mma8 = {299},
              .mma16 = {150},
              .tf32 = {75},
              .mma64 = derived(0.6)}}, // vector / 64
    {.number = 89,
     .product = "L40S",
     .ptxName = "sm_89",
     .ptxVersion = 80,
     .features = kAda,
     .sm = {.count = {142},
            .warps = {48},
            .ctas = {24},
            .sharedBytes = kilobytes(100),
            .sharedBytesPerCta = kilobytes(99)},
     .l2Bytes = megabytes(96),
     .peak = {.bytes = {0.86},
              .vector = {92},
              .mma8 = {733},
              .mma16 = {362},
              .tf32 = {183},
              .mma64 = derived(1.4)}}, // vector / 64
    {.number = 90,
     .product = "H200 SXM",
     .ptxName = "sm_90a",
     .ptxVersion = 80,
     .features = kHopper,
     .sm = {.count = {132},
            .warps = {64},
            .ctas = {32},
            .sharedBytes = kilobytes(228),
            .sharedBytesPerCta = kilobytes(227)},
     .l2Bytes = megabytes(50), // of H100; the driver reports 60 MiB for H200
     .maxCluster = {16},
     .peak = {.bytes = {4.8},
              .vector = {67},
              .mma8 = {1979},
              .mma16 = {989},
              .tf32 = {494},
              .mma64 = {34}}, // on the CUDA cores; tensor cores have 67
     // benchmarks/results/h200-923a80d.json: the fastest `copy` of step `memory`, matmul_nt_bf16 of
     // 8192 x 8192 x 8192, and rope_bf16_1x16x128x128 of step `small`.
     .reached = {.copyBytes = measured(4.25),
                 .mma16 = measured(809),
                 .graphKernelSeconds = measured(1.39e-6)}},
    {.number = 100,
     .product = "B200 SXM",
     .ptxName = "sm_100a",
     .ptxVersion = 86,
     .firstCuda = 1207,
     .features = kBlackwell,
     .sm = {.count = {148},
            .warps = {64},
            .ctas = {32},
            .sharedBytes = kilobytes(228),
            .sharedBytesPerCta = kilobytes(227)},
     .l2Bytes = megabytes(126),
     .maxCluster = {16},
     .peak = {.bytes = {8.0},
              .vector = {75},
              .mma8 = {4500},
              .mma16 = {2250},
              .tf32 = {1125},
              .mma64 = {37}}},
    {.number = 103,
     .product = "B300 SXM",
     .ptxName = "sm_103a",
     .ptxVersion = 88,
     .firstCuda = 1209,
     .features = kBlackwell,
     .sm = {.count = {148},
            .warps = {64},
            .ctas = {32},
            .sharedBytes = kilobytes(228),
            .sharedBytesPerCta = kilobytes(227)},
     .l2Bytes = megabytes(126),
     .maxCluster = {16},
     .peak = {.bytes = {8.0},
              .vector = {75},
              .mma8 = {4500}, // fp8; int8 is far slower on this chip
              .mma16 = {2500},
              .tf32 = {1250},
              .mma64 = {1.2}}},
    {.number = 120,
     .product = "RTX PRO 6000",
     .ptxName = "sm_120a",
     .ptxVersion = 87,
     .firstCuda = 1208,
     .features = kBlackwellRtx,
     .sm = {.count = {188},
            .warps = {48},
            .ctas = {24},
            .sharedBytes = kilobytes(100),
            .sharedBytesPerCta = kilobytes(99)},
     .l2Bytes = megabytes(128),
     .maxCluster = {8},
     .peak = {.bytes = {1.8},
              .vector = {125},
              .mma8 = {1007},
              .mma16 = {503},
              .tf32 = {251},
              .mma64 = derived(2)}}, // vector / 64
};

std::span<const Chip> chips() { return kChips; }

} // namespace tessera
