// RUN: %tessera_opt %s -verify-diagnostics -tessera-attach-target=chip=sm_60 -o /dev/null
// RUN: %tessera_opt %s -verify-diagnostics -tessera-attach-target=chip=sm_90:metal -o /dev/null

// expected-error @below {{expected a module with 'tessera.target', one of sm_70, sm_75}}
module {
}
