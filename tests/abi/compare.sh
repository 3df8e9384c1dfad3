#!/usr/bin/env bash
# Compares the C API's binary interface with the promised one (tessera_c.abi). A function more is fine; one
# that is changed or gone is not, before the next major version. Arguments: C compiler, nm, library,
# work folder; `--promise` as a fifth writes the promise anew, for a release.
#
# What an interface is made of (types, layouts, enum values) is in debugging information, which the
# library has none of. So the header's functions are compiled with empty bodies, as C sees them.
set -euo pipefail
compiler=$1 nm=$2 library=$3 work=$4
here=$(cd "$(dirname "$0")" && pwd)
include=$here/../../include
promised=$here/tessera_c.abi

if ! command -v abidiff >/dev/null; then
  echo "skipped: abidiff is not installed (package abigail-tools)"
  exit 77
fi

cd "$work"  # no path of this machine in the dump
python3 "$here/header_stubs.py" "$include/tessera/tessera.h" >stubs.c
"$compiler" -std=c99 -g -O0 -fPIC -shared -Wno-unused-parameter -I"$include" stubs.c \
  -o libstubs.so

if [ "${5:-}" = --promise ]; then
  abidw --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed \
    --out-file "$promised" libstubs.so
  exit
fi

names() { "$nm" --dynamic --defined-only "$1" | awk '$3 ~ /^tessera_/ { print $3 }' | sort; }
missing=$(comm -23 <(names libstubs.so) <(names "$library"))
if [ -n "$missing" ]; then
  printf 'declared in tessera.h, but not in the library:\n%s\n' "$missing"
  exit 1
fi
if ! abidiff --no-added-syms "$promised" libstubs.so; then
  echo "the C API's binary interface has changed: restore it, or raise the major version and write" \
    "tests/abi/tessera_c.abi anew"
  exit 1
fi
echo "the C API is as promised"
