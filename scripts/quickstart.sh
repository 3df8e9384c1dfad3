#!/usr/bin/env bash
# The main job on a fresh Debian 12 or Ubuntu 24.04 machine, no GPU needed: installs what is missing,
# builds the command, then multiplies real matrices by planned schedules, explains the plans and
# verifies every result.
#
# usage: scripts/quickstart.sh [--no-build]      --no-build uses the command that is built already
set -euo pipefail
cd "$(dirname "$0")/.."
case ${1-} in
  "") build=yes ;;
  --no-build) build=no ;;
  *) sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac

command=$PWD/${TESSERA_BUILD:-build/release}/cli/tessera
started=$SECONDS
if [ $build = yes ]; then
  scripts/bootstrap.sh
  mkdir -p build
  echo "configuring and building the command (log: build/quickstart.log)"
  if ! { cmake --preset release && cmake --build --preset release --target tessera_command; } \
      >build/quickstart.log 2>&1; then
    tail -n 30 build/quickstart.log >&2
    exit 1
  fi
  echo "built in $((SECONDS - started)) s"
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
started=$SECONDS

title() { printf '\n== %s\n' "$1"; }
tessera() {
  echo "\$ tessera $*"
  "$command" "$@"
}

title "Two matrices from .npy files, f32"
tessera make 1536x6016 A.npy --seed 1
tessera make 6016x1792 B.npy --seed 2
tessera run --a A.npy --b B.npy --out C.npy --check

title "The same in bf16 (stored as uint16)"
tessera make 1536x6016 A16.npy --type bf16 --seed 1
tessera make 6016x1792 B16.npy --type bf16 --seed 2
tessera run --a A16.npy --b B16.npy --type bf16 --out C16.npy --check

title "A group of two products in one schedule of six workers"
tessera plan --group 192x320x128,256x448x192 --tile 64x64x64 --workers 6 --schedule data_parallel
tessera run --group 192x320x128,256x448x192 --tile 64x64x64 --workers 6 --schedule data_parallel \
  --check

title "Eight experts with very different numbers of rows"
experts=""
for rows in 3 250 17 90 1 400 33 230; do experts="$experts,${rows}x2048x1024"; done
tessera run --group "${experts#,}" --check

title "One product by all four schedules"
tessera run --a A.npy --b B.npy --compare --check

title "Three tiles for two workers: whole tiles take two rounds, stream-K shares them"
tessera run 768x256x16384 --tile 256x256x256 --workers 2 --compare --check

title "The plan for a GPU that is not here"
tessera plan 1536x1792x6016 --tile 128x128x64 --type bf16 --schedule hybrid --machine h200

printf '\nEverything was verified; it took %d s.\n' $((SECONDS - started))
