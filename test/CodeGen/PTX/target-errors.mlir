// RUN: %tessera_opt %s -split-input-file -verify-diagnostics -print-ptx -o /dev/null

// expected-error @below {{expected a module with 'tessera.target', one of sm_70, sm_75}}
module {
  tile.kernel @none() grid 1 {
    tile.return
  }
}

// -----

// expected-error-re @below {{expected a module with 'tessera.target', one of sm_70, {{.*}}; got 'sm_60'}}
module attributes {tessera.target = "sm_60"} {
  tile.kernel @unknown() grid 1 {
    tile.return
  }
}

// -----

// expected-error-re @below {{expected a module with 'tessera.target', one of sm_70, {{.*}}; got 'aarch64'}}
module attributes {tessera.target = "aarch64"} {
  tile.kernel @cpu() grid 1 {
    tile.return
  }
}
