#!/bin/sh
# Rewrites the answers in tests/golden/plans.csv with what the planner says now. Look at the diff: every
# changed line is a changed plan.
#
#   scripts/update_golden.sh [BUILD_FOLDER]     default: build/release
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$root/build/release}
cmake --build "$build" --target tessera_plan_tests
tests=$(find "$build" -name tessera_plan_tests -type f | head -n 1)
TESSERA_UPDATE_GOLDEN=1 "$tests" --gtest_filter=GoldenPlans.AreAsRecorded
git -C "$root" --no-pager diff --stat -- tests/golden
