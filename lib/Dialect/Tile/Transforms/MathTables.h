//===- MathTables.h - Coefficients of the expansions -----------*- C++ -*-===//
//
// Written by utils/minimax.py; lowest power first. The comment gives the form that is approximated and
// the largest relative error it causes in the function, evaluation apart.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_TILE_TRANSFORMS_MATHTABLES_H
#define TESSERA_DIALECT_TILE_TRANSFORMS_MATHTABLES_H

namespace tessera::tile {

// 2^x on |x| <= 1/2: f32 2^-27.5, f64 2^-55.6
inline constexpr float kExp2F32[] = {0x1p+0f, 0x1.62e432p-1f, 0x1.ebfbe6p-3f, 0x1.c6ada8p-5f, 0x1.3b21c8p-7f, 0x1.5fbcfap-10f, 0x1.4bdd60p-13f};
inline constexpr double kExp2F64[] = {0x1p+0, 0x1.62e42fefa39efp-1, 0x1.ebfbdff82c58fp-3, 0x1.c6b08d704a0d0p-5, 0x1.3b2ab6fba4e16p-7, 0x1.5d87fe78a242ep-10, 0x1.430912f885bd3p-13, 0x1.ffcbfc757d229p-17, 0x1.62c021ddbd137p-20, 0x1.b524dc24e68b6p-24, 0x1.e4d0772d72751p-28, 0x1.ea02ebcbbc57ep-32, 0x1.c2c5a339d7fe3p-36};

// (exp(x) - 1 - x) / x² on |x| <= ln(2)/2: f32 2^-26.1, f64 2^-59.9
inline constexpr float kExpF32[] = {0x1.fffffep-2f, 0x1.5554aap-3f, 0x1.55579ep-5f, 0x1.122c84p-7f, 0x1.6ab1aep-10f};
inline constexpr double kExpF64[] = {0x1p-1, 0x1.5555555555559p-3, 0x1.555555555553fp-5, 0x1.111111110f6dap-7, 0x1.6c16c16c1f076p-10, 0x1.a01a01afd3df1p-13, 0x1.a01a017bc7087p-16, 0x1.71ddf87ec10cbp-19, 0x1.27e5362b11598p-22, 0x1.af5e74f7db296p-26, 0x1.1ee8895081c26p-29};

// (log(1 + x) - x + x²/2) / x³ on [sqrt(1/2) - 1, sqrt(2) - 1]: f32 2^-27.3
inline constexpr float kLogF32[] = {0x1.555554p-2f, -0x1.000228p-2f, 0x1.99a034p-3f, -0x1.547236p-3f, 0x1.22d696p-3f, -0x1.0d81f4p-3f, 0x1.057044p-3f, -0x1.38f864p-4f};

// (2 atanh(s) - 2s) / s³ in s², for log on the same interval: f64 2^-59.2
inline constexpr double kAtanhF64[] = {0x1.5555555555592p-1, 0x1.999999997fe69p-2, 0x1.24924941e8673p-2, 0x1.c71c520fa85a2p-3, 0x1.74663dc5d76e5p-3, 0x1.39a1d4348b085p-3, 0x1.2f0486e4e3fbap-3};

// (2 atanh(s) - 2s - 2/3 s³) / s⁵ in s²: f64 2^-66.7
inline constexpr double kAtanhLongF64[] = {0x1.999999999999ap-2, 0x1.249249249246fp-2, 0x1.c71c71c72273cp-3, 0x1.745d174180defp-3, 0x1.3b13b3112008ep-3, 0x1.1110946ab42f3p-3, 0x1.e20b7b541e75cp-4, 0x1.aaec2bf960fbbp-4, 0x1.c31a5eeafaf7fp-4};

// as Atanh, for f32 powers: f64 2^-37.6
inline constexpr double kAtanhShortF64[] = {0x1.555554fdd0bb9p-1, 0x1.999a7a3d3de2cp-2, 0x1.2438e7fd3f9d4p-2, 0x1.e2f44fa27c2ebp-3};

// (sin(x) - x) / x³ in x², |x| <= pi/4: f32 2^-27.9, f64 2^-56.4
inline constexpr float kSinF32[] = {-0x1.555546p-3f, 0x1.110778p-7f, -0x1.9953fep-13f};
inline constexpr double kSinF64[] = {-0x1.5555555555548p-3, 0x1.111111110f7cap-7, -0x1.a01a019bfd1cbp-13, 0x1.71de35671605bp-19, -0x1.ae5e59f829b17p-26, 0x1.5d8fa3cb002cbp-33};

// (cos(x) - 1 + x²/2) / x⁴ in x², |x| <= pi/4: f32 2^-33.0, f64 2^-59.6
inline constexpr float kCosF32[] = {0x1.55554ap-5f, -0x1.6c0c28p-10f, 0x1.99e80cp-16f};
inline constexpr double kCosF64[] = {0x1.555555555554bp-5, -0x1.6c16c16c14f8ap-10, 0x1.a01a019c83907p-16, -0x1.27e4f7ea37438p-22, 0x1.1ee9d7525df20p-29, -0x1.8fa465d4dfa3ep-37};

// (atan(x) - x) / x³ in x², on [0, 1] (f32), [0, tan(pi/8)] (f64): f32 2^-25.8, f64 2^-58.3
inline constexpr float kAtanF32[] = {-0x1.5554dcp-2f, 0x1.9978ecp-3f, -0x1.230a96p-3f, 0x1.b4dee2p-4f, -0x1.3551b2p-4f, 0x1.61f1f8p-5f, -0x1.0c1db4p-6f, 0x1.7eb656p-9f};
inline constexpr double kAtanF64[] = {-0x1.5555555555554p-2, 0x1.999999999964bp-3, -0x1.249249247568cp-3, 0x1.c71c71b747516p-4, -0x1.745d14b944243p-4, 0x1.3b136e238c656p-4, -0x1.110c724230ea4p-4, 0x1.e171f675ca015p-5, -0x1.ab7d4b66f1264p-5, 0x1.70ec96c577ba5p-5, -0x1.12367f9a66dd3p-5, 0x1.f1e5277dd439cp-7};

// (asin(x) - x) / x³ in x², |x| <= 1/2: f32 2^-27.6, f64 2^-55.7
inline constexpr float kAsinF32[] = {0x1.5555c8p-3f, 0x1.330204p-4f, 0x1.747bbap-5f, 0x1.8c3e1cp-6f, 0x1.595caap-5f};
inline constexpr double kAsinF64[] = {0x1.5555555555390p-3, 0x1.333333336e7c1p-4, 0x1.6db6db427cd78p-5, 0x1.f1c72c384b373p-6, 0x1.6e89f44e6144cp-6, 0x1.1c6be0e851a7bp-6, 0x1.c6fdced1f4fe1p-7, 0x1.8ec2ae5fbd714p-7, 0x1.abd1c819b7a2dp-8, 0x1.3ff32327230a9p-6, -0x1.09d0f02014fa6p-6, 0x1.056cb7046e2a2p-5};

// erf(x) / x in x², |x| <= 1: f64 2^-54.5
inline constexpr double kErfSmallF64[] = {0x1.20dd750429b6dp+0, -0x1.812746b0379e7p-2, 0x1.ce2f21a042bddp-4, -0x1.b82ce3128899bp-6, 0x1.565bcd0e64ab8p-8, -0x1.c02db3fed8f86p-11, 0x1.f9a326bfb7592p-14, -0x1.f4d255e14ca81p-17, 0x1.b9e64d0826c22p-20, -0x1.5f6d6b559129cp-23, 0x1.fc41175107620p-27, -0x1.4e55cdab06f9bp-30, 0x1.7ecbfd0d087ecp-34, -0x1.2928fff493426p-38};

// (1 + 2x) exp(x²) erfc(x) in (x - 4) / (x + 4), on [0, 10.1] (f32), [0, 27.3] (f64): f32 2^-25.1, f64 2^-54.3
inline constexpr float kErfcxF32[] = {0x1.3ba592p+0f, -0x1.1df19ep-3f, 0x1.f7ceaap-7f, 0x1.16e4a4p-4f, -0x1.9d741ap-4f, 0x1.80b352p-4f, -0x1.122d24p-4f, 0x1.236f6ep-5f, -0x1.020c2ep-6f, 0x1.2ad994p-7f, 0x1.8bd0acp-9f, 0x1.62c954p-11f};
inline constexpr double kErfcxF64[] = {0x1.3ba5916e9fd7fp+0, -0x1.1df1ad154a28fp-3, 0x1.f7f5df66fd6e2p-7, 0x1.16ecefcfa54aep-4, -0x1.9ddb23c3e89f8p-4, 0x1.7fee004e0fc55p-4, -0x1.0fb06dfe54530p-4, 0x1.3079edf6d9200p-5, -0x1.09623882c2176p-6, 0x1.49c6726d79438p-8, -0x1.8d4a9c30d283cp-11, -0x1.a1df14cb93110p-13, 0x1.3be06a950ea70p-13, -0x1.995af8cb01dffp-16, -0x1.788db1a317810p-17, 0x1.7f3619bbbc4bap-18, 0x1.3bde229bb17f0p-22, -0x1.bb83b7e7ce1cfp-21, 0x1.3df5cb2ba20b9p-24, 0x1.da5760a06507fp-24, -0x1.2a6f541f7720dp-26, -0x1.e427cc258e16ap-27, 0x1.c080d50655c6ap-30, 0x1.45bf9a88485f7p-30};

// tanh(x) / x in x², |x| <= 9.02: f32 2^-25.7
inline constexpr float kTanhNumeratorF32[] = {0x1p+0f, 0x1.0b8c26p-3f, 0x1.93e204p-9f, 0x1.6e5dc0p-17f, -0x1.4b4a70p-26f, 0x1.a9c4fap-35f, -0x1.4e652ap-44f};
inline constexpr float kTanhDenominatorF32[] = {0x1p+0f, 0x1.db1b66p-2f, 0x1.8fdb94p-6f, 0x1.0788dcp-12f};

// erf(x) / x in x², |x| <= 3.93: f32 2^-28.0
inline constexpr float kErfNumeratorF32[] = {0x1.3bf238p+0f, 0x1.9f3862p-3f, 0x1.e6967ap-5f, 0x1.1420eap-8f, 0x1.b1f4c2p-12f, 0x1.5526bcp-18f, -0x1.e95b20p-27f};
inline constexpr float kErfDenominatorF32[] = {0x1.180000p+0f, 0x1.16a95ap-1f, 0x1.feb59ap-4f, 0x1.1517dcp-6f, 0x1.769770p-10f, 0x1.1fec34p-14f};

} // namespace tessera::tile

#endif
