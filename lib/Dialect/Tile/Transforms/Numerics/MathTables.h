//===- MathTables.h - Coefficients of the expansions -----------*- C++ -*-===//
//
// Written by utils/minimax.py; lowest power first. A comment gives the form that is approximated
// and the largest relative error it causes in the function, evaluation apart.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_DIALECT_TILE_TRANSFORMS_NUMERICS_MATHTABLES_H
#define TESSERA_LIB_DIALECT_TILE_TRANSFORMS_NUMERICS_MATHTABLES_H

namespace tessera::tile {

// 2^x, |x| <= 1/2
// F32: 2^-28.0
inline constexpr float kExp2F32[] = {0x1p+0f,       0x1.62e43p-1f,   0x1.ebfbd8p-3f, 0x1.c6af74p-5f,
                                     0x1.3b30ap-7f, 0x1.5f0d0ep-10f, 0x1.3fa542p-13f};
// F64: 2^-59.5
inline constexpr double kExp2F64[] = {0x1p+0,
                                      0x1.62e42fefa39efp-1,
                                      0x1.ebfbdff82c58ep-3,
                                      0x1.c6b08d704a185p-5,
                                      0x1.3b2ab6fba50fep-7,
                                      0x1.5d87fe7888396p-10,
                                      0x1.430912f7aa0f2p-13,
                                      0x1.ffcbfcde3ab8fp-17,
                                      0x1.62c0255f635b3p-20,
                                      0x1.b5241ce38c586p-24,
                                      0x1.e4c3868bdfaf5p-28,
                                      0x1.eb06b37c49cd7p-32,
                                      0x1.d47a65e13d80cp-36};

// (2^(1 + x) - 2) / x, |x| <= 1/2
// F32: 2^-23.1
inline constexpr float kWeightF32[] = {0x1.62e42ap+0f, 0x1.ebf9bcp-2f, 0x1.c6b752p-4f,
                                       0x1.3cea88p-6f, 0x1.5bba18p-9f};

// (exp(x) - 1 - x) / x^2, |x| <= ln(2) / 2
// F32: 2^-26.1
inline constexpr float kExpF32[] = {0x1.fffffep-2f, 0x1.5554acp-3f, 0x1.55572p-5f, 0x1.122a96p-7f,
                                    0x1.6b6a94p-10f};
// F64: 2^-61.5
inline constexpr double kExpF64[] = {0x1p-1,
                                     0x1.5555555555559p-3,
                                     0x1.555555555554cp-5,
                                     0x1.111111110f64cp-7,
                                     0x1.6c16c16c1b321p-10,
                                     0x1.a01a01b009aep-13,
                                     0x1.a01a018b4be2cp-16,
                                     0x1.71ddf7fa2e6f7p-19,
                                     0x1.27e5195e2fdc7p-22,
                                     0x1.af5f59f7919cfp-26,
                                     0x1.1f10944e17c7ap-29};

// (log(1 + x) - x + x^2 / 2) / x^3, 1 + x in [sqrt(1/2), sqrt(2)]
// F32: 2^-27.2
inline constexpr float kLogF32[] = {0x1.555554p-2f,  -0x1.000226p-2f, 0x1.99a00ap-3f,
                                    -0x1.547246p-3f, 0x1.22da06p-3f,  -0x1.0d852p-3f,
                                    0x1.055bf2p-3f,  -0x1.38b75ep-4f};

// (2 atanh(s) - 2 s) / s^3 in s^2, s = x / (2 + x) for the same x
// F64: 2^-59.4
inline constexpr double kAtanhF64[] = {
    0x1.555555555558bp-1, 0x1.9999999981f6ep-2, 0x1.2492494048437p-2, 0x1.c71c5342753a6p-3,
    0x1.746603f66ff8dp-3, 0x1.39a739fff4096p-3, 0x1.2ed1d3b0b0904p-3};

// (2 atanh(s) - 2 s - 2/3 s^3) / s^5 in s^2
// F64: 2^-66.2
inline constexpr double kAtanhLongF64[] = {
    0x1.9999999999b25p-2, 0x1.24924924590cp-2,  0x1.c71c722bd3f2dp-3, 0x1.745cea62a915dp-3,
    0x1.3b1ed6e7604bep-3, 0x1.0f81aef7b5e62p-3, 0x1.0e338f162c9a3p-3};

// as Atanh, for f32 powers
// F64: 2^-37.6
inline constexpr double kAtanhShortF64[] = {0x1.555554fdd0bb9p-1, 0x1.999a7a3d3de2cp-2,
                                            0x1.2438e7fd3f9d4p-2, 0x1.e2f44fa27c2ebp-3};

// (sin(x) - x) / x^3 in x^2, |x| <= pi/4
// F32: 2^-27.8
inline constexpr float kSinF32[] = {-0x1.555546p-3f, 0x1.110772p-7f, -0x1.995066p-13f};
// F64: 2^-57.8
inline constexpr double kSinF64[] = {-0x1.555555555554ap-3,  0x1.111111110f9cap-7,
                                     -0x1.a01a019c3275fp-13, 0x1.71de358ed3de4p-19,
                                     -0x1.ae5e753cedcdp-26,  0x1.5d96aa66f50e9p-33};

// (cos(x) - 1 + x^2 / 2) / x^4 in x^2, |x| <= pi/4
// F32: 2^-32.9
inline constexpr float kCosF32[] = {0x1.55554ap-5f, -0x1.6c0c26p-10f, 0x1.99e706p-16f};
// F64: 2^-63.9
inline constexpr double kCosF64[] = {0x1.555555555554bp-5,  -0x1.6c16c16c1501cp-10,
                                     0x1.a01a019c8ff03p-16, -0x1.27e4f7f20929dp-22,
                                     0x1.1ee9dbff96b88p-29, -0x1.8fa689381461cp-37};

// (atan(x) - x) / x^3 in x^2, on [0, 1] (f32), [0, tan(pi/8)] (f64)
// F32: 2^-25.7
inline constexpr float kAtanF32[] = {-0x1.5554dep-2f, 0x1.9978fap-3f,  -0x1.230938p-3f,
                                     0x1.b4c938p-4f,  -0x1.351112p-4f, 0x1.6135b2p-5f,
                                     -0x1.0b113ap-6f, 0x1.7c5e0ep-9f};
// F64: 2^-63.8
inline constexpr double kAtanF64[] = {
    -0x1.5555555555554p-2, 0x1.99999999995c1p-3, -0x1.24924924722f2p-3, 0x1.c71c71b60230ap-4,
    -0x1.745d1492bcc4cp-4, 0x1.3b136b327923ap-4, -0x1.110c4bec0e2dap-4, 0x1.e16f55232b5eap-5,
    -0x1.ab6dea4ed1ca5p-5, 0x1.70b3304e04fcp-5,  -0x1.11bac59f5b1c5p-5, 0x1.f0106184262b5p-7};

// (asin(x) - x) / x^3 in x^2, |x| <= 1/2
// F32: 2^-27.4
inline constexpr float kAsinF32[] = {0x1.5555bap-3f, 0x1.3305e6p-4f, 0x1.74241p-5f, 0x1.8f52fcp-6f,
                                     0x1.56f512p-5f};
// F64: 2^-55.7
inline constexpr double kAsinF64[] = {
    0x1.555555555539p-3,  0x1.333333336e7c1p-4, 0x1.6db6db427cd78p-5,  0x1.f1c72c384b373p-6,
    0x1.6e89f44e6144cp-6, 0x1.1c6be0e851a7bp-6, 0x1.c6fdced1f4fe1p-7,  0x1.8ec2ae5fbd714p-7,
    0x1.abd1c819b7a2dp-8, 0x1.3ff32327230a9p-6, -0x1.09d0f02014fa6p-6, 0x1.056cb7046e2a2p-5};

// erf(x) / x - 1 in x^2, |x| <= 1
// F32: 2^-29.4
inline constexpr float kErfSmallF32[] = {0x1.06eba8p-3f,  -0x1.81274p-2f, 0x1.ce2d4cp-4f,
                                         -0x1.b7fe16p-6f, 0x1.54292p-8f,  -0x1.a4e0b6p-11f,
                                         0x1.4bb34ap-14f};
// F64: 2^-56.3
inline constexpr double kErfSmallF64[] = {
    0x1.06eba8214db69p-3,  -0x1.812746b037a05p-2,  0x1.ce2f21a043dc4p-4,  -0x1.b82ce312d5cafp-6,
    0x1.565bcd19fd69fp-8,  -0x1.c02db627d77b3p-11, 0x1.f9a36aa4b9b0ap-14, -0x1.f4d806660e2bap-17,
    0x1.ba3af86b8e3bcp-20, -0x1.62d74402c5cf2p-23, 0x1.161975028e2e5p-26, -0x1.1476642560245p-29,
    0x1.836474f9a716cp-32, -0x1.7f05109c39e2ap-35};

// -log2(erfc(x)), x in [1, 4]
// F32: 2^-25.8
inline constexpr float kErfTailF32[] = {0x1.e6fbap-9f,  0x1.9cd41cp+0f,  0x1.e3199p-1f,
                                        0x1.06d05ap-3f, -0x1.5fc708p-6f, 0x1.b8300ap-10f};

// log2 of the normal distribution at -x, x in [0, 5.5], relative to the distribution or 2^-13
// F32: 2^-14.4
inline constexpr float kNormalTailF32[] = {-0x1.000482p+0f, -0x1.266106p+0f, -0x1.d98f76p-2f,
                                           -0x1.95997ap-5f, 0x1.97ac86p-8f,  -0x1.7c15f2p-12f};

// (1 + 2 x) exp(x^2) erfc(x) in (x - 4) / (x + 4), up to where erfc is 0
// F32: 2^-25.1
inline constexpr float kErfcxF32[] = {0x1.3ba592p+0f,  -0x1.1df1bp-3f,   0x1.f7e644p-7f,
                                      0x1.16ecacp-4f,  -0x1.9dbd04p-4f,  0x1.8006cep-4f,
                                      -0x1.106048p-4f, 0x1.2e723cp-5f,   -0x1.04b56ap-6f,
                                      0x1.7accp-8f,    -0x1.e6a3a8p-12f, -0x1.d15934p-12f};
// F64: 2^-54.6
inline constexpr double kErfcxF64[] = {
    0x1.3ba5916e9fd7fp+0,   -0x1.1df1ad154a29p-3,   0x1.f7f5df66fcadap-7,   0x1.16ecefcfa54fp-4,
    -0x1.9ddb23c3e5582p-4,  0x1.7fee004e0fdcdp-4,   -0x1.0fb06dfe890b5p-4,  0x1.3079edf6c1f35p-5,
    -0x1.0962387b70739p-6,  0x1.49c672794bf7fp-8,   -0x1.8d4aa1176a6a9p-11, -0x1.a1df20341f6cp-13,
    0x1.3be0ac40591acp-13,  -0x1.9959697d5e342p-16, -0x1.7896421ef74c5p-17, 0x1.7f25c22843f56p-18,
    0x1.3d2e2e2749c06p-22,  -0x1.bab80d889bdd7p-21, 0x1.3add2cc1d1b6ep-24,  0x1.d4df938f78291p-24,
    -0x1.2a271d18804dcp-26, -0x1.d3dae11ba4822p-27, 0x1.e4605b3e0e578p-30,  0x1.428baf69ea61p-30};

// erf(x) / x in x^2, up to where erf is 1, relative to 1
// F32: 2^-27.9
inline constexpr float kErfNumeratorF32[] = {0x1.3bf238p+0f,  0x1.9f3862p-3f,  0x1.e69678p-5f,
                                             0x1.1420f6p-8f,  0x1.b1f496p-12f, 0x1.5527b6p-18f,
                                             -0x1.e96a24p-27f};
inline constexpr float kErfDenominatorF32[] = {0x1.18p+0f,     0x1.16a95ap-1f, 0x1.feb59ap-4f,
                                               0x1.1517dcp-6f, 0x1.76977p-10f, 0x1.1fec34p-14f};

// erf(x) / x in x^2, up to where erf is 1 - 2^-14
// F32: 2^-18.4
inline constexpr float kErfShortNumeratorF32[] = {0x1.a8450ep+0f, 0x1.cfde06p-3f, 0x1.05ed0ep-4f,
                                                  0x1.26e242p-10f};
inline constexpr float kErfShortDenominatorF32[] = {0x1.78p+0f, 0x1.6174bap-1f, 0x1.1e220ap-3f,
                                                    0x1.c57a7p-7f};

// tanh(x) / x in x^2, up to where tanh is 1 - 2^-14
// F32: 2^-17.6
inline constexpr float kTanhNumeratorF32[] = {0x1.6fffe2p+0f, 0x1.54fa0cp-3f, 0x1.2a0196p-9f};
inline constexpr float kTanhDenominatorF32[] = {0x1.7p+0f, 0x1.4a8f0cp-1f, 0x1.a7c2aap-6f,
                                                0x1.6e2bbcp-14f};

} // namespace tessera::tile

#endif
