// ptxas accepts the PTX.
// REQUIRES: ptxas
// RUN: %tessera_opt %S/rows.mlir -tessera-attach-target=chip=sm_80 -tile-expand-math -tile-assign-layouts -tile-lower-layout-conversions -tile-allocate-shared -tile-place-barriers -print-ptx=version=70 -o /dev/null > %t.80.ptx
// RUN: %ptxas -arch=sm_80 --warn-on-spills -Werror %t.80.ptx -o %t.80.cubin
// RUN: %tessera_opt %S/rows.mlir -tessera-attach-target=chip=sm_90a -tile-expand-math -tile-assign-layouts -tile-lower-layout-conversions -tile-allocate-shared -tile-place-barriers -print-ptx -o /dev/null > %t.90.ptx
// RUN: %ptxas -arch=sm_90a --warn-on-spills -Werror %t.90.ptx -o %t.90.cubin
// RUN: %tessera_opt %S/mma.mlir -tessera-attach-target=chip=sm_80 -tile-assign-layouts -tile-lower-layout-conversions -tile-allocate-shared -tile-place-barriers -print-ptx=version=70 -o /dev/null > %t.p80.ptx
// RUN: %ptxas -arch=sm_80 --warn-on-spills -Werror %t.p80.ptx -o %t.p80.cubin
// RUN: %tessera_opt %S/mma.mlir -tessera-attach-target=chip=sm_80 -tile-assign-layouts -tile-pipeline-loops -tile-lower-layout-conversions -tile-allocate-shared -tile-place-barriers -print-ptx=version=70 -o /dev/null > %t.a80.ptx
// RUN: %ptxas -arch=sm_80 --warn-on-spills -Werror %t.a80.ptx -o %t.a80.cubin
// RUN: %tessera_opt %S/mma.mlir -tessera-attach-target=chip=sm_90a -tile-assign-layouts -tile-pipeline-loops -tile-lower-layout-conversions -tile-allocate-shared -tile-place-barriers -print-ptx -o /dev/null > %t.a90.ptx
// RUN: %ptxas -arch=sm_90a --warn-on-spills -Werror %t.a90.ptx -o %t.a90.cubin
// RUN: %tessera_opt %S/converts.mlir -tessera-attach-target=chip=sm_90a -tile-lower-layout-conversions -tile-allocate-shared -tile-place-barriers -print-ptx -o /dev/null > %t.c90.ptx
// RUN: %ptxas -arch=sm_90a --warn-on-spills -Werror %t.c90.ptx -o %t.c90.cubin
