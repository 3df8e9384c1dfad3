#!/usr/bin/env bash
# Everything that can be judged on a GPU, in one command: tests, benchmark against cuBLASLt,
# compute-sanitizer on a reduced set. Results as JSON and logs in a folder. Where there is no GPU it
# says so: the same programs then list no device and report their tests skipped.
set -uo pipefail

usage="usage: scripts/gpu_check.sh [options] OUTPUT_FOLDER
  --build DIR       build folder, configured and built if needed (default build/gpu)
  --no-build        take the programs as they are
  --bin DIR         folder that holds tessera_cuda_tests and tessera_cuda_bench (implies --no-build)
  --cublaslt FILE   libcublasLt.so to compare with (default: found in the usual places)
  --count N         products per random corpus (default 300)
  --commit TEXT     what the reports say was measured (default: the programs' own)
  --stages LIST     some of tests,bench,sanitizer (default all)"

build=build/gpu
bin=""
compile=yes
cublaslt=""
count=300
commit=""
stages=tests,bench,sanitizer
out=""
while [ $# -gt 0 ]; do
  case $1 in
    --build) build=$2; shift ;;
    --no-build) compile=no ;;
    --bin) bin=$2; compile=no; shift ;;
    --cublaslt) cublaslt=$2; shift ;;
    --count) count=$2; shift ;;
    --commit) commit=$2; shift ;;
    --stages) stages=$2; shift ;;
    -h | --help) echo "$usage"; exit 0 ;;
    -*) echo "$usage" >&2; exit 2 ;;
    *) out=$1 ;;
  esac
  shift
done
[ -n "$out" ] || { echo "$usage" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$out"

if [ $compile = yes ]; then
  if ! cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DTESSERA_CUDA=ON ||
    ! cmake --build "$build" --parallel "$(nproc)" --target tessera_cuda_tests tessera_cuda_bench; then
    echo "gpu_check: the build failed"
    exit 1
  fi
fi
program() {
  local found
  for found in "$bin/$1" "$build/tests/cuda/$1" "$build/bench/cuda/$1" "$build/bin/$1"; do
    [ -x "$found" ] && { echo "$found"; return; }
  done
  echo "gpu_check: $1 was not found; build it, or name its folder with --bin" >&2
  exit 1
}
tests=$(program tessera_cuda_tests) || exit 1
bench=$(program tessera_cuda_bench) || exit 1

# The toolkit's library, or the one of a Python package.
find_cublaslt() {
  local found
  for found in /usr/local/cuda/lib64/libcublasLt.so.1[23] \
    $(python3 -c 'import glob, sys
for folder in sys.path:
    print(*glob.glob(folder + "/nvidia/*/lib/libcublasLt.so.1[23]"))' 2>/dev/null); do
    [ -e "$found" ] && { echo "$found"; return; }
  done
}
[ -n "$cublaslt" ] || cublaslt=$(find_cublaslt)

failed=""
stage() {
  local name=$1 start=$SECONDS
  shift
  if "$@" >"$out/$name.log" 2>&1; then
    echo "gpu_check: $name: fine ($((SECONDS - start)) s)"
  else
    echo "gpu_check: $name: FAILED ($((SECONDS - start)) s); the end of $out/$name.log:"
    tail -n 15 "$out/$name.log"
    failed="$failed $name"
  fi
}
wanted() { case ",$stages," in *",$1,"*) return 0 ;; *) return 1 ;; esac; }

gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1)
if [ -z "$gpu" ]; then
  echo "gpu_check: no NVIDIA GPU here; the tests report themselves skipped, nothing is measured"
  stage tests "$tests" --gtest_output="json:$out/tests.json"
  grep -E "SKIPPED|PASSED|FAILED" "$out/tests.log" | grep -E "tests" | tail -n 3
  [ -z "$failed" ]
  exit
fi
echo "gpu_check: $gpu"

if wanted tests; then
  stage tests "$tests" --gtest_brief=1 --gtest_output="json:$out/tests.json"
  tail -n 3 "$out/tests.log"
fi

if wanted bench; then
  options=()
  [ -n "$cublaslt" ] && options+=(--cublaslt "$cublaslt")
  [ -n "$commit" ] && options+=(--commit "$commit")
  for list in dense log256 loguniform; do
    stage "bench_$list" "$bench" "$list" --count "$count" "${options[@]}" --json "$out/bench_$list.json"
    tail -n 1 "$out/bench_$list.log"
  done
fi

if wanted sanitizer; then
  if command -v compute-sanitizer >/dev/null; then
    for tool in memcheck racecheck synccheck initcheck; do
      stage "sanitizer_$tool" compute-sanitizer --tool "$tool" --error-exitcode 1 \
        "$tests" --gtest_filter='*Sanitizer*' --gtest_brief=1
    done
  else
    echo "gpu_check: compute-sanitizer is not installed; its checks were left out"
    failed="$failed sanitizer"
  fi
fi

if [ -n "$failed" ]; then
  echo "gpu_check: FAILED:$failed"
  exit 1
fi
echo "gpu_check: all fine; results in $out"
