#!/usr/bin/env bash
# What can be judged without running the code: format, layers and their diagram, headers that stand
# alone, the performance page's figures, duplicate code, file sizes, shell scripts (with shellcheck,
# where that is installed) and lint. Exit status 1 if anything is wrong.
#
# The linter reads compile commands that are configured for it in build/lint, where several source
# files are one unit (cmake/unite.cmake): nearly all of its time goes into the standard library's
# headers. A unit that passed is not linted again until it, a header or .clang-tidy changes.
set -euo pipefail
cd "$(dirname "$0")/.."

usage="usage: scripts/check.sh [--fix] [--no-lint] [--all]
  --fix      rewrite the files that are not formatted
  --no-lint  leave clang-tidy out (it takes the longest)
  --all      lint test files, too"
fix=no
lint=yes
tests=OFF
for argument in "$@"; do
  case $argument in
    --fix) fix=yes ;;
    --no-lint) lint=no ;;
    --all) tests=ON ;;
    -h | --help) echo "$usage"; exit 0 ;;
    *) echo "$usage" >&2; exit 2 ;;
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

# Lints one unit unless its fingerprint is already among the passed.
lint_one() {
  local build=$1 stamp=$1/lint/${2%% *} file=${2#* }
  [ -e "$stamp" ] && return 0
  # A unit of several files stands in the build folder, but goes by the settings of where they are.
  local config=${file##*"/$build/"}
  config=${config%/CMakeFiles/*}/.clang-tidy
  [ -e "$config" ] || config=.clang-tidy
  if clang-tidy --quiet -p "$build" --config-file="$config" \
    --extra-arg=-Wno-unknown-warning-option "$file" 2>"$stamp.err" >"$stamp.out"; then
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
  local build=build/lint
  mkdir -p "$build/lint"
  if ! { cmake --preset lint -DTESSERA_BUILD_TESTS=$tests && cmake --build --preset lint; } \
    >"$build/configure.log" 2>&1; then
    cat "$build/configure.log"
    return 1
  fi
  python3 - "$build/compile_commands.json" <<'PYTHON' |
import hashlib, json, pathlib, re, sys
common = [path for top in ("include", "src", "cli", "bench", "tests")
          for kind in ("*.hpp", ".clang-tidy") for path in sorted(pathlib.Path(top).rglob(kind))]
common = b"".join(path.read_bytes() for path in [pathlib.Path(".clang-tidy"), *common])
for entry in json.load(open(sys.argv[1])):
    unit = pathlib.Path(entry["file"])
    united = re.findall('#include "(.*)"', unit.read_text()) if unit.suffix == ".cxx" else [unit]
    if unit.suffix in (".cpp", ".cxx"):
        text = b"".join(pathlib.Path(file).read_bytes() for file in united)
        print(hashlib.sha256(common + text).hexdigest()[:16], unit)
PYTHON
    xargs -d '\n' -P "$(nproc)" -n 1 bash -c 'lint_one "$@"' lint "$build"
}

shell() {
  shellcheck --severity=warning scripts/*.sh tests/consumer/*.sh .ci/run
}

stage format format
stage "include layers and headers" scripts/check_includes.py --compile
stage "include diagram" scripts/include_diagram.py --check docs/architecture.md
for page in performance performance_cpu; do
  stage "page $page" scripts/performance_page.py --check "docs/$page.md"
done
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
