#!/usr/bin/env bash
# Builds the wheel against an installed library, installs it into a virtual environment, and runs these
# tests there. Arguments: cmake, build folder of the library, work folder.
#
# The environment is kept between runs. Where it cannot be made (no venv module, no package index
# within reach), the test is skipped and says so. TESSERA_TEST_VENV names one to use instead: with torch in
# it, torch is tested, too.
set -euo pipefail
cmake=$1 build=$2 work=$3
source=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$work"

skip() {
  echo "skipped: $1"
  exit 77
}

headers=$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
[ -e "$headers/Python.h" ] || skip "Python's headers are not installed (package python3-dev)"

venv=${TESSERA_TEST_VENV:-$work/venv}
if [ ! -e "$venv/complete" ] && [ -z "${TESSERA_TEST_VENV:-}" ]; then
  rm -rf "$venv"
  python3 -m venv "$venv" >"$work/venv.log" 2>&1 || skip "python3 -m venv does not work (package python3-venv)"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --timeout 20 --retries 1 \
    "scikit-build-core>=0.10" "nanobind>=2.4" "numpy" "pytest" "ml_dtypes" >>"$work/venv.log" 2>&1 ||
    skip "pip could not fetch scikit-build-core, nanobind, numpy and pytest: $(tail -1 "$work/venv.log")"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --timeout 20 --retries 1 "jax>=0.5" \
    >>"$work/venv.log" 2>&1 || echo "JAX could not be fetched: its tests will be skipped"
  touch "$venv/complete"
fi

"$cmake" --install "$build" --prefix "$work/prefix" >"$work/install.log"
rm -rf "$work/wheel"
"$venv/bin/pip" wheel "$source" --quiet --disable-pip-version-check --no-deps --no-index \
  --no-build-isolation --wheel-dir "$work/wheel" \
  --config-settings=cmake.define.TESSERA_INSTALLED="$work/prefix" \
  --config-settings=build-dir="$work/wheel_build" >"$work/wheel.log" 2>&1 ||
  { tail -50 "$work/wheel.log"; exit 1; }
ls -s --block-size=1K "$work/wheel/"*.whl
"$venv/bin/pip" install --quiet --disable-pip-version-check --no-index --no-deps --force-reinstall \
  "$work/wheel/"*.whl
# What a wheel may ask of the system it is installed on; a sanitizer's library comes with such a build.
strangers=$(readelf -d "$venv"/lib/python*/site-packages/tessera/_tessera*.so |
  sed -n 's/.*(\(NEEDED\|RPATH\|RUNPATH\)).*\[\(.*\)\]/\2/p' |
  grep -vE '^(lib(c|m|gcc_s|gomp|stdc\+\+|asan|ubsan|tsan)\.so\.[0-9]+|ld-linux-.*)$' || true)
[ -z "$strangers" ] || { echo "the wheel needs what a system may lack: $strangers"; exit 1; }
cd "$work"
"$venv/bin/python" "$source/tests/docs/run_examples.py" "$source/docs/python.md" "$work/docs" \
  python="$venv/bin/python {source}"
PYTHONDONTWRITEBYTECODE=1 exec "$venv/bin/python" -m pytest -q -ra -p no:cacheprovider "$source/tests/python"
