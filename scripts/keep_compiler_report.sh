#!/bin/sh
# A compiler launcher: runs the command and keeps what it prints in OBJECT.report, so that
# scripts/check_ptxas.py can judge register spills without compiling again. What is shown is only
# what is no report, such as warnings and errors.
# usage: keep_compiler_report.sh OBJECT COMMAND...
report=$1.report
shift
"$@" >"$report" 2>&1
status=$?
grep -v -e '^ptxas info' -e 'bytes stack frame' -e '^$' "$report" >&2
exit $status
