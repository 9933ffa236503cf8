#!/bin/sh
# Installs missing packages on a Debian 12 machine: system packages through apt (with sudo if not
# root) and the Python environment .venv of the tree. Does nothing, quickly, if all are installed.
#
#   utils/setup.sh          packages for a build and its tests
#   utils/setup.sh bench    also OpenBLAS, the peer of the matmul benchmark
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
venv=$top/.venv
requirements=$top/utils/requirements.txt

packages="cmake ninja-build ccache libstdc++-12-dev libgtest-dev libcli11-dev libzstd-dev zlib1g-dev
  clang-22 lld-22 libclang-rt-22-dev llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools"
case ${1:-} in
  "") ;;
  bench) packages="$packages libopenblas0-pthread" ;;
  *) echo "usage: utils/setup.sh [bench]" >&2; exit 2 ;;
esac

say() { printf '%s\n' "setup: $*" >&2; }

# A python3 that can create the environment and has the headers that the extension needs.
usable_python() {
  command -v "$1" >/dev/null 2>&1 && "$1" - 2>/dev/null <<'PY'
import ensurepip, os, sys, sysconfig, venv
header = os.path.join(sysconfig.get_path("include"), "Python.h")
sys.exit(0 if sys.version_info >= (3, 11) and os.path.exists(header) else 1)
PY
}

venv_ready() {
  [ -x "$venv/bin/python" ] && [ "$venv/.ready" -nt "$requirements" ] && [ "$venv/.ready" -nt "$0" ]
}

python=
if ! venv_ready; then
  for candidate in python3 /usr/bin/python3; do
    if usable_python "$candidate"; then python=$candidate; break; fi
  done
  if [ -z "$python" ]; then
    packages="$packages python3 python3-venv python3-dev"
    python=/usr/bin/python3
  fi
fi

if ! command -v dpkg-query >/dev/null 2>&1; then
  say "this machine has no dpkg; please install the equivalents of:" $packages
  exit 1
fi
# shellcheck disable=SC2086 # lists of words
missing=$(
  dpkg-query -W -f '${db:Status-Status} ${Package}\n' $packages 2>/dev/null |
    { have=" $(sed -n 's/^installed //p' | tr '\n' ' ')"
      for p in $packages; do case $have in *" $p "*) ;; *) printf '%s ' "$p" ;; esac; done; }
)
if [ -n "$missing" ]; then
  sudo=
  if [ "$(id -u)" != 0 ]; then
    sudo=sudo
    command -v sudo >/dev/null 2>&1 || { say "sudo is needed to install: $missing"; exit 1; }
  fi
  say "installing $missing"
  install() {
    # shellcheck disable=SC2086 # lists of words
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $missing
  }
  # The lists may be absent or out of date; they are fetched only then.
  # shellcheck disable=SC2086 # lists of words
  if ! apt-get -qq --simulate --no-install-recommends install $missing >/dev/null 2>&1 || ! install
  then
    $sudo apt-get -qq update
    install
  fi >&2
fi

if ! venv_ready; then
  say "making the Python environment .venv"
  [ ! -L "$venv" ] || rm "$venv" # what a link leads to is another tree's
  "$python" -m venv --clear "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$requirements"
  # The package of the build tree, by a path relative to site-packages: the tree may be moved.
  site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  realpath -m --relative-to="$site" "$top/build/python" >"$site/tessera-build.pth"
  for program in tessera tessera-opt; do
    ln -sfn "../../build/bin/$program" "$venv/bin/$program"
  done
  touch "$venv/.ready"
fi
