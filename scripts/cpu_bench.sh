#!/usr/bin/env bash
# All of the CPU's figures in one command, some fourteen minutes on a quiet machine of two cores:
# squares, skinny, long and odd products in five types, layers whose weights lie along k, the same with
# weights that are packed ahead, and experts, each with one thread and with all, against the peers that are installed. The reports are what
# docs/performance.md and docs/performance_cpu.md are made from.
set -euo pipefail

if [ $# -ne 2 ]; then
  echo "usage: scripts/cpu_bench.sh NAME OUTPUT_FOLDER
  NAME of the machine stands first in the reports' names. Environment:
  TESSERA   the command (default build/release/cli/tessera)
  OPENBLAS, ONEDNN, BLIS  a library to compare with (default: the system's)
  CORETYPE  whose kernels it takes on a processor with AVX-512 (default SkylakeX)
  EACH      seconds of timed work for each contender and product (default 0.03)
  ONLY      f64, f32, bf16, f16, i8, weights, packed or grouped" >&2
  exit 2
fi
name=$1
out=$2
tessera=${TESSERA:-build/release/cli/tessera}
openblas=openblas${OPENBLAS:+=$OPENBLAS}
onednn=onednn${ONEDNN:+=$ONEDNN}
blis=blis${BLIS:+=$BLIS}
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$out"
lists=$(mktemp -d)
trap 'rm -rf "$lists"' EXIT
# 4096³ once, in f32: seconds a call in f64. Of the experts, layers whose weights are below a gigabyte.
grep -v '^4096,4096,4096,' "$root/bench/shapes/cpu.csv" > "$lists/most.csv"
grep -E '^suite|v3 down, 8 local experts",.*,(1024|8192),|a3b down",.*,(1024|8192),' \
  "$root/bench/shapes/grouped.csv" > "$lists/experts.csv"
# Debian's OpenBLAS takes AVX-512 processors newer than itself for AVX2 ones, and a machine's environment
# may ask for those: it is not asked here. The kernels for Sapphire Rapids are SkylakeX's but where there
# is AMX. BLIS 0.9.0 cannot be told: any BLIS_ARCH_TYPE ends it.
unset OPENBLAS_CORETYPE
if grep -qm1 avx512f /proc/cpuinfo; then export OPENBLAS_CORETYPE=${CORETYPE:-SkylakeX}; fi

record() {  # TYPE LIST PEERS REPORT [LAYOUTS]
  [ -z "${ONLY:-}" ] || [ "$ONLY" = "${4%%_*}" ] || return 0
  local threads report
  for threads in 1 "$(nproc)"; do
    report="$out/${name}_$4_${threads}threads.json"
    [ "$threads" != 1 ] || report="$out/${name}_$4_1thread.json"
    "$tessera" bench --shapes "$2" --type "$1" --threads "$threads" --trans "${5:-NN}" \
      --peer "$3" --seconds "${EACH:-0.03}" --save "$report"
    [ "$threads" != "$(nproc)" ] || break
  done
}
record f32 cpu "$onednn,$openblas,$blis" f32
record f64 "$lists/most.csv" "$openblas,$blis" f64
record bf16 "$lists/most.csv" "$onednn" bf16
record f16 "$lists/most.csv" "$onednn" f16
record i8 "$lists/most.csv" "$onednn" i8
record f32 weights "$onednn,$openblas,$blis" weights_f32 NT
record bf16 weights "$onednn" weights_bf16 NT
record i8 weights "$onednn" weights_i8 NT
record f32 weights "$onednn,$openblas,$blis" packed_f32 NP
record bf16 weights "$onednn" packed_bf16 NP
record i8 weights "$onednn" packed_i8 NP
record f32 "$lists/experts.csv" "$onednn,$openblas,$blis" grouped_f32
