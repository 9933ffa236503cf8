#!/bin/sh
# Creates build/external-venv with PyTorch for the external tests (integration/external), and prints
# its Python. EXTERNAL_PYTHON names another Python that has PyTorch (CPU), NumPy, ml_dtypes and
# expecttest already. Running it again is cheap.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
if [ -n "${EXTERNAL_PYTHON:-}" ]; then
  echo "$EXTERNAL_PYTHON"
  exit 0
fi
venv=$top/build/external-venv
if [ ! -e "$venv/.ready" ]; then
  "$top/.venv/bin/python" -m venv --clear "$venv" >&2
  pip() { "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@" >&2; }
  pip numpy ml_dtypes expecttest
  pip --retries 1 torch --index-url https://download.pytorch.org/whl/cpu || pip torch
  touch "$venv/.ready"
fi
echo "$venv/bin/python"
