#!/bin/sh
# Installs tileiras, NVIDIA's assembler for CUDA Tile IR, into the tree's .venv, with the ptxas and
# libnvvm of the same release that it needs, and CUDA 12.9's ptxas, the last one that supports
# sm_70. They are under NVIDIA's licence and not part of our packages. TILEIRAS_VERSION selects the
# release, 13.3 or later. Does nothing, quickly, if it is installed.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
venv=$top/.venv
version=${TILEIRAS_VERSION:-13.4}
marker=$venv/.tileiras-$version-12.9
[ ! -e "$marker" ] || exit 0
echo "tileiras: installing release $version into .venv" >&2
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --retries 1 \
  "nvidia-cuda-tileiras==$version.*" "nvidia-cuda-nvcc==$version.*" "nvidia-nvvm==$version.*" "nvidia-cuda-nvcc-cu12==12.9.*"
for program in "$venv"/lib/python*/site-packages/nvidia/cu*/bin/tileiras; do
  ln -sfn "$(realpath --relative-to="$venv/bin" "$program")" "$venv/bin/tileiras"
done
"$venv/bin/tileiras" --version >/dev/null
rm -f "$venv"/.tileiras-*
touch "$marker"
