#!/usr/bin/env bash
# Debian's NumPy and SciPy over the drop-in, with a trace that proves that their calls arrive. Argument: the
# library.
set -euo pipefail
library=$1
python=/usr/bin/python3
if ! "$python" -c 'import numpy' 2>/dev/null; then
  echo "skipped: package python3-numpy is not installed"
  exit 77
fi
trace=$(mktemp)
trap 'rm -f "$trace"' EXIT

TESSERA_VERBOSE=dispatch LD_PRELOAD=$library "$python" - 2>"$trace" <<'PYTHON'
import numpy

random = numpy.random.default_rng(1)
for kind in (numpy.float32, numpy.float64):
    a = random.standard_normal((123, 45)).astype(kind)
    b = random.standard_normal((45, 67)).astype(kind)
    exact = a.astype(numpy.longdouble) @ b.astype(numpy.longdouble)
    bound = 45 * numpy.finfo(kind).eps * (abs(a.astype(float)) @ abs(b.astype(float)))
    for got in (a @ b, (b.T @ a.T).T, numpy.asfortranarray(a) @ b):
        assert (abs(got - exact) <= bound).all()
    assert abs(numpy.linalg.inv(a.T @ a) @ (a.T @ a) - numpy.eye(45)).max() < 1e-2
PYTHON
for line in 'gemm 123x67x45 f32' 'gemm 123x67x45 f64'; do
  grep -F -m 1 "$line" "$trace" ||
    { echo "NumPy's matmul did not arrive as '$line':"; head -20 "$trace"; exit 1; }
done

# A process that has multiplied with several threads may fork; parent and children go on multiplying.
LD_PRELOAD=$library timeout 100 "$python" - <<'PYTHON'
import os

import numpy

a = numpy.ones((800, 800))
for _ in range(2):
    assert (a @ a)[0, 0] == 800
    child = os.fork()
    if child == 0:
        os._exit(0 if (a @ a)[0, 0] == 800 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
PYTHON

# What tessera refuses is computed all the same, and says so where it is asked to.
TESSERA_THREADS=none TESSERA_VERBOSE=dispatch LD_PRELOAD=$library "$python" - 2>"$trace" <<'PYTHON'
import numpy

assert (numpy.ones((20, 30)) @ numpy.ones((30, 40)) == 30).all()
PYTHON
grep -qF 'plain loops' "$trace" || { echo "a refusal was not logged"; cat "$trace"; exit 1; }

if ! "$python" -c 'import scipy.linalg.blas' 2>/dev/null; then
  echo "SciPy: skipped, package python3-scipy is not installed"
  exit 0
fi
TESSERA_VERBOSE=dispatch LD_PRELOAD=$library "$python" - 2>"$trace" <<'PYTHON'
import numpy
import scipy.linalg
import scipy.linalg.blas

a = numpy.asfortranarray(numpy.arange(12.0).reshape(3, 4))
assert (scipy.linalg.blas.dgemm(1.0, a, a, trans_b=True) == a @ a.T).all()
square = numpy.random.default_rng(2).standard_normal((300, 300))
p, l, u = scipy.linalg.lu(square)
assert abs(p @ l @ u - square).max() < 1e-10
PYTHON
grep -qF 'gemm 3x3x4 f64' "$trace" || { echo "SciPy's dgemm did not arrive"; exit 1; }
echo "SciPy's dgemm arrived, too"
