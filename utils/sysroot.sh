#!/bin/bash
# Creates a sysroot for the other architecture from Debian's packages, to cross-compile against:
# installs nothing, needs no root, does not touch dpkg's and apt's own state. With `python`, creates
# a Python of that architecture instead, to run under qemu's user mode.
#
#   utils/sysroot.sh x86_64|aarch64 DIR [python]
set -euo pipefail
purpose=${3:-build}
case ${1:-}-$purpose in
  x86_64-build | x86_64-python) arch=amd64 ;;
  aarch64-build | aarch64-python) arch=arm64 ;;
  *) echo "usage: utils/sysroot.sh x86_64|aarch64 DIR [python]" >&2; exit 2 ;;
esac
dest=$(realpath -m "$2")
llvm=22
packages=(llvm-$llvm-dev libmlir-$llvm-dev libc6 libc6-dev linux-libc-dev libcrypt-dev libgcc-s1
          libgcc-12-dev libstdc++-12-dev zlib1g-dev libzstd-dev libpython3.11-dev)
if [ "$purpose" = python ]; then
  packages=(python3.11-minimal libpython3.11-minimal libpython3.11-stdlib libc6 libgcc-s1
            libstdc++6 libexpat1 libffi8 zlib1g)
fi

tmp=$dest.tmp
rm -rf "$tmp" "$dest"
mkdir -p "$tmp"/{debs,root,state/lists/partial,cache/archives/partial}
: >"$tmp/status"
cat >"$tmp/apt.conf" <<CONF
APT::Architecture "$arch"; APT::Architectures { "$arch"; };
Dir::State "$tmp/state"; Dir::State::status "$tmp/status"; Dir::Cache "$tmp/cache";
APT::Sandbox::User ""; Acquire::Languages "none"; Debug::NoLocking "1";
CONF
export APT_CONFIG=$tmp/apt.conf
apt-get -qq update

# One LLVM version on both sides: the tablegen tools are the build machine's.
wanted=()
for package in "${packages[@]}"; do
  case $package in
    *-"$llvm"-dev) wanted+=("$package=$(dpkg-query -W -f '${Version}' "libmlir-$llvm-dev")") ;;
    *) wanted+=("$package") ;;
  esac
done
(cd "$tmp/debs" && apt-get -qq download "${wanted[@]}")
for deb in "$tmp"/debs/*.deb; do
  dpkg -x "$deb" "$tmp/root"
done

root=$tmp/root
prefix=$root/usr/lib/llvm-$llvm
# Absolute links become relative links inside the sysroot.
find "$root" -type l -lname '/*' | while read -r link; do
  ln -sfn "$(realpath -m --relative-to="$(dirname "$link")" "$root$(readlink "$link")")" "$link"
done
if [ "$purpose" = build ]; then
  ln -sfn "/usr/lib/llvm-$llvm/bin" "$prefix/bin" # tools: the build machine's
  # Placeholders for the shared libraries whose presence LLVM's CMake files check. They contain
  # text, because an empty file is a valid linker script and would be accepted silently.
  sed -n 's/^list(APPEND _cmake_import_check_files_for_.*"${_IMPORT_PREFIX}\/\([^"]*\)".*/\1/p' \
    "$prefix"/lib/cmake/{llvm/LLVMExports,mlir/MLIRTargets}-*.cmake | sort -u | while read -r file; do
    [ -e "$prefix/$file" ] || {
      target=$(realpath -m "$prefix/$file")
      mkdir -p "${target%/*}"
      echo "stand_in_never_link_this $file" >"$target"
    }
  done
fi
(cd "$tmp/debs" && sha256sum -- *.deb) >"$root/MANIFEST"
mv "$root" "$dest"
rm -rf "$tmp"
