#!/usr/bin/env bash
# Builds everything and runs all tests that this machine can run: the release build with its unit,
# end-to-end, install and example tests (and the GPU's where there is one), the address,
# undefined-behaviour and thread sanitizers, a minute of fuzzing, and scripts/check.sh. CI runs this
# same script.
#
# usage: scripts/test.sh [--quick]      --quick leaves sanitizers, fuzzing and lint out
set -euo pipefail
cd "$(dirname "$0")/.."
quick=no
case ${1-} in
  "") ;;
  --quick) quick=yes ;;
  *) sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac

jobs=$(nproc)
summary=""
failed=""
# stage NAME COMMAND...: runs it and keeps its time. A failure is noted, so that one run shows all.
stage() {
  local name=$1 start=$SECONDS result=passed
  shift
  printf '\n=== %s\n' "$name"
  "$@" || { result=FAILED; failed="$failed
  $name"; }
  summary="$summary
  $(printf '%-34s %-6s %4d s' "$name" $result $((SECONDS - start)))"
  [ $result = passed ]
}

build() {
  cmake --preset "$@" >"build/configure_$1.log" 2>&1 || { cat "build/configure_$1.log"; return 1; }
  # Ninja redraws one line on a terminal; elsewhere one line in twenty says that it is alive.
  if [ -t 1 ]; then
    cmake --build --preset "$1" -j "$jobs"
  else
    cmake --build --preset "$1" -j "$jobs" 2>&1 |
      awk '!/^\[[0-9]+\/[0-9]+\]/ || NR % 20 == 0; { fflush() }'
  fi
}

run_tests() {
  # Only the totals of a passing run are of interest, and all of a failing test's output.
  ctest --preset "$1" -j "$jobs" --output-on-failure "${@:2}" 2>&1 | tee "build/ctest_$1.log" |
    awk '/^ *[0-9]+\/[0-9]+ Test/ && /Passed/ { if (++seen % 100) next }
         !/^ +Start +[0-9]+:/; { fflush() }'
}

mkdir -p build
stage bootstrap scripts/bootstrap.sh --tests || exit 1
stage "release: build" build release && stage "release: tests" run_tests release || true
if [ $quick = no ]; then
  stage "check" scripts/check.sh || true
  for sanitizer in asan tsan; do
    stage "$sanitizer: build" build $sanitizer &&
      stage "$sanitizer: tests" run_tests $sanitizer || true
  done
  stage "fuzz: build" build fuzz && stage "fuzz: a minute" run_tests fuzz || true
fi

printf '\n=== summary (%d min %d s)%s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$summary"
cat build/ctest_*.log | grep -E 'tests passed|tests failed|^Total Test time' || true
if [ -n "$failed" ]; then
  printf 'failed:%s\n' "$failed"
  exit 1
fi
