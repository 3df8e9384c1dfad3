#!/usr/bin/env python3
"""Judges every CUDA kernel by ptxas's own report: no register spills, no stack frame, no serialised
wgmma, no setmaxnreg that was ignored. Reads what keep_compiler_report.sh left beside the objects."""

import argparse
import pathlib
import re
import subprocess
import sys

FUNCTION = re.compile(r"Compiling entry function '(\w+)' for '(\w+)'")
FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
REGISTERS = re.compile(r"Used (\d+) registers")
# C7510: wgmma instructions that should overlap run one after another. C7508: setmaxnreg ignored.
FORBIDDEN = re.compile(r"C75(08|10)|wgmma.*serializ|setmaxnreg.*ignored", re.IGNORECASE)


def readable(name):
    """The kernel's name without its namespaces, where a demangler is at hand."""
    try:
        text = subprocess.run(["c++filt", name], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return name
    return text.strip().replace("tessera::cuda::", "").split("(tessera")[0]


def judge(path):
    """The kernels of one report, with their registers, and what is wrong in it."""
    kernels = []
    wrong = []
    name = None
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        if FORBIDDEN.search(line):
            wrong.append(line.strip())
        if found := FUNCTION.search(line):
            name = f"{readable(found[1])} [{found[2]}]"
        elif (found := FRAME.search(line)) and any(int(n) > 0 for n in found.groups()):
            frame, stores, loads = found.groups()
            wrong.append(f"{name}: stack frame of {frame} bytes, {stores} bytes spilled, "
                         f"{loads} bytes read back")
        elif (found := REGISTERS.search(line)) and name is not None:
            kernels.append((name, int(found[1])))
            name = None
    return kernels, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path, help="the build folder")
    parser.add_argument("--list", action="store_true", help="print every kernel's registers")
    arguments = parser.parse_args()

    reports = sorted(arguments.build.glob("src/cuda/**/*.cu.o.report"))
    objects = {path.with_name(path.name + ".report")
               for path in arguments.build.glob("src/cuda/**/*.cu.o")}
    wrong = [f"{path}: no report; build it again" for path in sorted(objects - set(reports))]
    count = 0
    for path in reports:
        kernels, faults = judge(path)
        count += len(kernels)
        wrong += [f"{path.name}: {fault}" for fault in faults]
        if arguments.list:
            for name, registers in kernels:
                print(f"{registers:4d} registers  {name}")
    if count == 0:
        wrong.append(f"no kernel reports under {arguments.build}/src/cuda; is it a CUDA build?")
    for fault in wrong:
        print(fault, file=sys.stderr)
    print(f"ptxas: {count} kernels, {len(wrong)} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
