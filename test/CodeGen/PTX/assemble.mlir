// What NVIDIA's assembler takes.
// REQUIRES: ptxas
// RUN: %tessera_opt %S/rows.mlir -tile-expand-math=native=exp2,rsqrt -tile-assign-layouts -tile-expand-exchanges=chip=sm_80 -tile-allocate-shared=chip=sm_80 -tile-place-barriers -print-ptx="chip=sm_80 version=70" -o /dev/null > %t.80.ptx
// RUN: %ptxas -arch=sm_80 --warn-on-spills -Werror %t.80.ptx -o %t.80.cubin
// RUN: %tessera_opt %S/rows.mlir -tile-expand-math=native=exp2,rsqrt -tile-assign-layouts -tile-expand-exchanges -tile-allocate-shared -tile-place-barriers -print-ptx -o /dev/null > %t.90.ptx
// RUN: %ptxas -arch=sm_90a --warn-on-spills -Werror %t.90.ptx -o %t.90.cubin
// RUN: %tessera_opt %S/products.mlir -tile-assign-layouts -tile-expand-exchanges=chip=sm_80 -tile-allocate-shared=chip=sm_80 -tile-place-barriers -print-ptx="chip=sm_80 version=70" -o /dev/null > %t.p80.ptx
// RUN: %ptxas -arch=sm_80 --warn-on-spills -Werror %t.p80.ptx -o %t.p80.cubin
// RUN: %tessera_opt %S/products.mlir -tile-assign-layouts -tile-pipeline-loops=chip=sm_80 -tile-expand-exchanges=chip=sm_80 -tile-allocate-shared=chip=sm_80 -tile-place-barriers -print-ptx="chip=sm_80 version=70" -o /dev/null > %t.a80.ptx
// RUN: %ptxas -arch=sm_80 --warn-on-spills -Werror %t.a80.ptx -o %t.a80.cubin
// RUN: %tessera_opt %S/products.mlir -tile-assign-layouts -tile-pipeline-loops -tile-expand-exchanges -tile-allocate-shared -tile-place-barriers -print-ptx -o /dev/null > %t.a90.ptx
// RUN: %ptxas -arch=sm_90a --warn-on-spills -Werror %t.a90.ptx -o %t.a90.cubin
// RUN: %tessera_opt %S/converts.mlir -tile-expand-exchanges -tile-allocate-shared -tile-place-barriers -print-ptx -o /dev/null > %t.c90.ptx
// RUN: %ptxas -arch=sm_90a --warn-on-spills -Werror %t.c90.ptx -o %t.c90.cubin
