//===- tessera-opt.cpp - Runs passes on textual IR ------------------------===//
#include "tessera-c/tessera.h"

int main(int argc, char **argv) { return tessera_opt_main(argc, argv); }
