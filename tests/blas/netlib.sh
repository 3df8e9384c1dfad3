#!/usr/bin/env bash
# netlib's own BLAS tests (Debian's libblas-test) over the drop-in. Argument: the library.
set -euo pipefail
library=$1
folder=$(echo /usr/lib/*/blas)
if [ ! -x "$folder/xblat3s" ] || [ ! -e "$folder/libblas.so.3" ]; then
  echo "skipped: package libblas-test, with libblas3, is not installed"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# The rest of BLAS, and what the CBLAS programs need of it, is netlib's; so is the order of arguments
# that an error in a row-major call is reported with.
export LD_LIBRARY_PATH=$folder
for letter in s d; do
  LD_PRELOAD=$library "$folder/xblat3$letter" <"$folder/${letter}blat3.in"
  LD_PRELOAD=$library "$folder/x${letter}cblat3" <"$folder/${letter}in3" >"c${letter}blat3.out"
done

grep -h -i 'gemm' ./*.out
passed=$(grep -h -i 'gemm.*PASSED' ./*.out | wc -l)
if [ "$passed" -ne 10 ] || grep -h -E 'FAIL|\*\*\*\*' ./*.out; then
  echo "expected 10 passes of gemm and no failure"
  exit 1
fi

# The programs would pass without the drop-in, too.
for call in xblat3s:sgemm_:sblat3.in xdcblat3:cblas_dgemm:din3; do
  IFS=: read -r program symbol input <<<"$call"
  LD_DEBUG=bindings LD_PRELOAD=$library "$folder/$program" <"$folder/$input" 2>&1 >/dev/null |
    grep -F "$program [0] to $library" | grep -F "\`$symbol'" >/dev/null ||
    { echo "$program did not call the drop-in's $symbol"; exit 1; }
done
