#!/usr/bin/env bash
# Everything that can be judged on a GPU, in one command: tests, benchmark against cuBLASLt,
# compute-sanitizer on a reduced set, a trace and the limits, layers of experts, and the Python
# package (built here with CUDA) with its tests and beside torch. Results as JSON and logs in a
# folder. Where there is no GPU it says so: the same programs then list no device and report their
# tests skipped.
set -uo pipefail

usage="usage: scripts/gpu_check.sh [options] OUTPUT_FOLDER
  --build DIR       build folder, configured and built if needed (default build/gpu)
  --no-build        take the programs as they are
  --bin DIR         folder that holds tessera_cuda_tests, tessera_cuda_bench and tessera, and
                    tessera_cuda_tests_racecheck for that tool (implies --no-build)
  --cublaslt FILE   libcublasLt.so to compare with (default: found in the usual places)
  --count N         products per random corpus (default 300)
  --commit TEXT     what the reports say was measured (default: the programs' own)
  --stages LIST     some of tests,bench,sanitizer,see,moe,python (default all)"

build=build/gpu
bin=""
compile=yes
cublaslt=""
count=300
commit=""
stages=tests,bench,sanitizer,see,moe,python
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
    ! cmake --build "$build" --parallel "$(nproc)" --target tessera_cuda_tests tessera_cuda_bench tessera_command; then
    echo "gpu_check: the build failed"
    exit 1
  fi
fi
program() {
  local found
  for found in "$bin/$1" "$build/tests/cuda/$1" "$build/bench/cuda/$1" \
    "$build/cli/$1" "$build/bin/$1"; do
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
    return 1
  fi
}
wanted() { case ",$stages," in *",$1,"*) return 0 ;; *) return 1 ;; esac; }

gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1)
if [ -z "$gpu" ]; then
  echo "gpu_check: no NVIDIA GPU here; the tests report themselves skipped, nothing is measured"
  stage tests "$root/scripts/gpu_tests.py" "$tests" "$out/tests"
  tail -n 1 "$out/tests.log"
  [ -z "$failed" ]
  exit
fi
echo "gpu_check: $gpu"

if wanted tests; then
  stage tests "$root/scripts/gpu_tests.py" "$tests" "$out/tests"
  tail -n 1 "$out/tests.log"
fi

if wanted bench; then
  options=()
  [ -n "$cublaslt" ] && options+=(--cublaslt "$cublaslt")
  [ -n "$commit" ] && options+=(--commit "$commit")
  measure() {
    local name=bench_$1
    shift
    stage "$name" "$bench" "$@" "${options[@]}" --json "$out/$name.json"
    tail -n 1 "$out/$name.log"
  }
  for list in dense decode log256 loguniform; do measure $list $list --count "$count"; done
  measure epilogue_bias epilogue --bias
  measure epilogue_relu epilogue --activation relu
  measure epilogue_gelu epilogue --bias --activation gelu_tanh
  measure epilogue_beta epilogue --beta 1
fi

# racecheck follows barriers only for threads that arrive themselves: it gets kernels built so.
build_for_racecheck() {
  cmake -S "$root" -B "$build-racecheck" -DCMAKE_BUILD_TYPE=Release -DTESSERA_CUDA=ON \
    -DTESSERA_EVERY_LANE_ARRIVES=ON &&
    cmake --build "$build-racecheck" --parallel "$(nproc)" --target tessera_cuda_tests
}
racecheck_tests() {
  local found
  for found in "$bin/tessera_cuda_tests_racecheck" "$build-racecheck/tests/cuda/tessera_cuda_tests"; do
    [ -x "$found" ] && { echo "$found"; return; }
  done
}
sanitize() {
  compute-sanitizer --tool "$1" --error-exitcode 1 "$2" --gtest_filter="$3" --gtest_brief=1
}
# racecheck takes 5 to 20 s for a test: of the kernels that differ by no more than the input's type or
# a larger cluster it gets one, and several processes share them.
racecheck() {
  local chosen='*Sanitizer/sm80_general_bf16*:*Sanitizer/sm90_bf16*-*_1x4:*_2x2:*_2x4:*_4x1:*_4x2'
  local shards=$(($(nproc) / 2)) shard status=0
  [ $shards -le 4 ] || shards=4
  [ $shards -ge 1 ] || shards=1
  local processes=()
  for ((shard = 0; shard < shards; ++shard)); do
    GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard sanitize racecheck "$1" "$chosen" \
      >"$out/sanitizer_racecheck_$shard.log" 2>&1 &
    processes+=($!)
  done
  for shard in "${!processes[@]}"; do
    wait "${processes[shard]}" || status=1
    cat "$out/sanitizer_racecheck_$shard.log"
  done
  return $status
}
if wanted sanitizer; then
  if command -v compute-sanitizer >/dev/null; then
    for tool in memcheck synccheck initcheck; do
      stage "sanitizer_$tool" sanitize $tool "$tests" "*Sanitizer*"
    done
    [ $compile = no ] || stage racecheck_build build_for_racecheck
    of_races=$(racecheck_tests)
    if [ -n "$of_races" ]; then
      stage sanitizer_racecheck racecheck "$of_races"
    else
      echo "gpu_check: racecheck: left out, it needs tests built with TESSERA_EVERY_LANE_ARRIVES"
    fi
  else
    echo "gpu_check: compute-sanitizer is not installed; its checks were left out"
    failed="$failed sanitizer"
  fi
fi

peer=()
[ -n "$cublaslt" ] && peer=(--peer "cublaslt=$cublaslt")

if wanted see; then
  command=$(program tessera) || exit 1
  stage trace "$command" trace 1536x1792x6016 --type bf16 --device cuda --out "$out/trace.json" \
    --html "$out/trace.html"
  for experiment in hbm scratchpad intensity stages; do
    stage "limits_$experiment" "$command" limits "$experiment" --type bf16 --device cuda --json
  done
  stage sweep "$command" sweep --corpus log256 --count 20 --type bf16 --device cuda "${peer[@]}" \
    --out "$out/sweep.jsonl"
fi

if wanted moe; then
  command=$(program tessera) || exit 1
  stage moe "$command" bench --suite moe --device cuda "${peer[@]}" --save "$out/moe.json"
  tail -n 30 "$out/moe.log"
fi

# The package goes into a folder of its own, beside whatever torch and JAX this machine has.
build_package() {
  python3 -m pip wheel "$root" --no-deps --no-build-isolation --disable-pip-version-check \
    --wheel-dir "$out/wheel" &&
    python3 -m pip install --no-deps --no-index --disable-pip-version-check --upgrade \
      --target "$out/site" "$out"/wheel/tessera-*.whl
}
test_package() { PYTHONPATH=$out/site python3 -m pytest -q -ra -p no:cacheprovider "$root/tests/python"; }
# JAX's functions once more, with its arrays on the GPU.
test_jax() {
  PYTHONPATH=$out/site TESSERA_TEST_JAX=cuda XLA_PYTHON_CLIENT_PREALLOCATE=false \
    python3 -m pytest -q -ra -p no:cacheprovider "$root/tests/python/test_jax.py"
}
race_torch() {
  PYTHONPATH=$out/site python3 "$root/bench/moe_torch.py" --json "$out/moe_torch.json" \
    ${commit:+--commit "$commit"}
}
missing() {
  local module
  for module in "$@"; do
    python3 -c "import $module" 2>/dev/null || { echo "$module"; return; }
  done
}
if wanted python; then
  out=$(cd "$out" && pwd)
  lacks=$(missing numpy pytest nanobind scikit_build_core)
  if [ -n "$lacks" ]; then
    echo "gpu_check: python: skipped, python3 has no $lacks"
  else
    stage python_build build_package && stage python_tests test_package
    tail -n 3 "$out/python_tests.log"
    if [ -n "$(missing jax)" ]; then
      echo "gpu_check: python_jax: skipped, python3 has no jax"
    else
      stage python_jax test_jax
    fi
    if [ -n "$(missing torch)" ]; then
      echo "gpu_check: moe_torch: skipped, python3 has no torch"
    else
      stage moe_torch race_torch
      tail -n 30 "$out/moe_torch.log"
    fi
  fi
fi

if [ -n "$failed" ]; then
  echo "gpu_check: FAILED:$failed"
  exit 1
fi
echo "gpu_check: all fine; results in $out"
