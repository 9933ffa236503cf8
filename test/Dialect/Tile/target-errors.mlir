// RUN: %tessera_opt %s -verify-diagnostics -tile-assign-layouts
// RUN: %tessera_opt %s -verify-diagnostics -tile-widen-mma-types
// RUN: %tessera_opt %s -verify-diagnostics -tile-round-mma-operands

// Passes on layouts and tensor cores are for GPUs.
// expected-error-re @below {{expected a module with 'tessera.target', one of sm_70, {{.*}}; got 'x86-64-v4'}}
module attributes {tessera.target = "x86-64-v4"} {
}
