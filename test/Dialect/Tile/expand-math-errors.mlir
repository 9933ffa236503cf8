// RUN: %tessera_opt %s -split-input-file -verify-diagnostics -tile-expand-math
// RUN: %tessera_opt %s -split-input-file -verify-diagnostics -tile-fast-math

// expected-error-re @below {{expected a module with 'tessera.target', one of sm_70, {{.*}}, or a CPU}}
module {
}

// -----

// expected-error-re @below {{expected a module with 'tessera.target', one of sm_70, {{.*}}, or a CPU; got 'sm_90:metal'}}
module attributes {tessera.target = "sm_90:metal"} {
}
