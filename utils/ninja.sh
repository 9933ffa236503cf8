#!/bin/sh
# Builds targets in build/ under a lock, so that several shells can share the tree. Configures first
# if there is no build yet. NINJA_DIR names another build directory; CMAKE_ARGS adds options to the
# first configuration.
set -e
top=$(cd "$(dirname "$0")/.." && pwd)
build=${NINJA_DIR:-$top/build}
mkdir -p "$build"
exec 9>"$build/.lock"
flock 9
if [ ! -f "$build/build.ninja" ]; then
  # shellcheck disable=SC2086 # CMAKE_ARGS is a list of words
  cmake -S "$top" -B "$build" -G Ninja -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 \
    ${CMAKE_ARGS:-} >"$build/configure.log" 2>&1 || { cat "$build/configure.log" >&2; exit 1; }
fi
exec ninja -C "$build" "$@"
