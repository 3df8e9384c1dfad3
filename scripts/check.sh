#!/usr/bin/env bash
# What can be judged without running the code: format, layers and their diagram, headers that stand
# alone, the performance page's figures, duplicate code, file sizes, shell scripts (with shellcheck,
# where that is installed) and lint. Exit status 1 if anything is wrong.
#
# The linter reads compile commands from a configured build (default build/release). A file that
# passed is not linted again until it, a header or .clang-tidy changes.
set -euo pipefail
cd "$(dirname "$0")/.."

usage="usage: scripts/check.sh [--fix] [--no-lint] [--all] [BUILD_FOLDER]
  --fix      rewrite the files that are not formatted
  --no-lint  leave clang-tidy out (it takes the longest)
  --all      lint test files, too"
build=build/release
fix=no
lint=yes
tests=no
for argument in "$@"; do
  case $argument in
    --fix) fix=yes ;;
    --no-lint) lint=no ;;
    --all) tests=yes ;;
    -h | --help) echo "$usage"; exit 0 ;;
    -*) echo "$usage" >&2; exit 2 ;;
    *) build=$argument ;;
  esac
done

failed=""
stage() {
  local name=$1 start=$SECONDS
  shift
  if "$@"; then
    echo "check: $name: fine ($((SECONDS - start)) s)"
  else
    echo "check: $name: FAILED ($((SECONDS - start)) s)"
    failed="$failed $name"
  fi
}

# shellcheck disable=SC2046  # no name of ours has a blank
format() {
  local files
  files=$(find include src cli bench examples tests -regex '.*\.\(hpp\|h\|cpp\|cu\|cuh\)')
  if [ $fix = yes ]; then
    clang-format -i $files
  else
    clang-format --dry-run -Werror --ferror-limit=1 $files
  fi
}

sizes() {
  find include src cli bench examples tests scripts -type f \
    -regex '.*\.\(hpp\|h\|cpp\|cu\|cuh\|py\|sh\)' -exec wc -l {} + |
    awk '$2 != "total" && $1 > 500 { print "note: " $2 ": " $1 " lines; is it still one role?" }'
}

# Lints one file unless its fingerprint is already among the passed.
lint_one() {
  local build=$1 headers=$2 file=$3
  local stamp
  stamp=$build/lint/$(cat "$file" | sha256sum | cut -c1-16)-$headers
  [ -e "$stamp" ] && return 0
  if clang-tidy --quiet -p "$build" --extra-arg=-Wno-unknown-warning-option "$file" \
    2>"$stamp.err" >"$stamp.out"; then
    mv "$stamp.out" "$stamp"
    rm -f "$stamp.err"
  else
    cat "$stamp.out"
    grep -E 'error:' "$stamp.err" || true
    rm -f "$stamp.out" "$stamp.err"
    echo "lint: $file"
    return 1
  fi
}
export -f lint_one

lint() {
  if [ ! -e "$build/compile_commands.json" ]; then
    echo "no $build/compile_commands.json: configure first (cmake --preset release)"
    return 1
  fi
  mkdir -p "$build/lint"
  local headers
  headers=$(find include src cli bench \( -name '*.hpp' -o -name .clang-tidy \) -print0 | sort -z |
    xargs -0 cat .clang-tidy | sha256sum | cut -c1-16)
  # Only files that the build compiles have compile commands.
  python3 - "$build/compile_commands.json" $tests <<'PYTHON' |
import json, os, sys
commands, tests = sys.argv[1], sys.argv[2] == "yes"
files = sorted({os.path.relpath(entry["file"]) for entry in json.load(open(commands))})
for file in files:
    is_test = file.startswith("tests/") or file.endswith("_test.cpp")
    if file.endswith(".cpp") and not file.startswith("..") and (tests or not is_test):
        print(file)
PYTHON
    xargs -P "$(nproc)" -I{} bash -c 'lint_one "$@"' lint "$build" "$headers" {}
}

shell() {
  shellcheck --severity=warning scripts/*.sh tests/consumer/*.sh .ci/run
}

stage format format
stage "include layers and headers" scripts/check_includes.py --compile
stage "include diagram" scripts/include_diagram.py --check docs/architecture.md
stage "performance page" scripts/performance_page.py --check docs/performance.md
stage "duplicate code" scripts/check_duplicates.py
if command -v shellcheck >/dev/null; then
  stage "shell scripts" shell
fi
if [ $lint = yes ]; then
  stage lint lint
fi
sizes
if [ -n "$failed" ]; then
  echo "check: failed:$failed"
  exit 1
fi
