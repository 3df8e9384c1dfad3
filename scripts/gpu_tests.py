#!/usr/bin/env python3
"""Runs the whole GPU suite: first, and alone, the tests that exhaust a device's memory, then the others, dealt
out to the GPUs of this machine, one process each. Processes that share a GPU take turns on it, and nearly
all of a test is short launches: two of them get less done than one. A process that dies or hangs is ended,
reported with the test it was in, and followed by another one for the tests that are left. Where one hangs,
cuda-gdb (or gdb) is asked before for what its kernels and threads were at: LOG.hang, beside its log."""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

STARTED = re.compile(r"\[ RUN +\] (\S+)")
ENDED = re.compile(r"\[ +(OK|FAILED|SKIPPED) +\] .*\((\d+) ms\)")


@dataclasses.dataclass
class Result:
    test: str
    outcome: str  # OK, FAILED, SKIPPED, or how its process ended
    log: pathlib.Path
    message: list


def gpus():
    """The devices' numbers; one entry where there is none to be seen: the tests then report themselves skipped."""
    try:
        lines = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return [0]
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return list(range(lines.count("GPU "))) if visible is None else visible.split(",")


def tests_of(program, chosen):
    """Full names, as GoogleTest takes them in a filter."""
    listed = subprocess.run([program, "--gtest_list_tests", f"--gtest_filter={chosen}"],
                            capture_output=True, text=True, check=True).stdout
    names = []
    for line in listed.splitlines():
        name = line.split("#")[0].strip()
        if line.startswith("  "):
            names.append(suite + name)
        elif name.endswith("."):
            suite = name
    return names


def dump(process, to):
    """Where its kernels and threads are."""
    debugger = next((found for name in ("cuda-gdb", "gdb") if (found := shutil.which(name))), None)
    if debugger is None:
        return
    questions = ["info cuda kernels", "info cuda blocks", "info cuda warps"] if "cuda" in debugger else []
    command = [debugger, "-p", str(process.pid), "-batch"]
    for question in [*questions, "thread apply all backtrace 30"]:
        command += ["-ex", question]
    with to.open("w") as output:
        try:
            subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=60)
        except subprocess.TimeoutExpired:
            output.write("no more was said within 60 s\n")


def wait(process, log, patience):
    """Empty, or how the process came to its end. It is killed after so many seconds without a word."""
    while process.poll() is None:
        time.sleep(0.1)
        if time.time() - log.stat().st_mtime > patience:
            dump(process, log.with_name(log.name + ".hang"))
            process.kill()
            process.wait()
            return f"HUNG for {patience} s"
    return "" if process.returncode in (0, 1) else f"DIED with {process.returncode}"


def read(log, end):
    """A result for each test that was begun; one that did not end, ended as its process did."""
    results, running, message = [], None, []
    for line in log.read_text(errors="replace").splitlines():
        if found := STARTED.match(line):
            running, message = found[1], []
        elif running and (found := ENDED.match(line)):
            results.append(Result(running, found[1], log, message))
            running = None
        else:
            message.append(line)
    if running:
        results.append(Result(running, end or "LEFT", log, message))
    return results


def run(program, tests, gpu, out, name, patience):
    """Runs the tests on one GPU, whatever becomes of a process."""
    results, left = [], tests
    while left:
        log = out / f"{name}.log"
        flags = out / f"{name}.flags"
        flags.write_text(f"--gtest_filter={':'.join(left)}\n")
        with log.open("w") as output:
            process = subprocess.Popen([program, f"--gtest_flagfile={flags}"], stdout=output,
                                       stderr=subprocess.STDOUT, env=os.environ | {"CUDA_VISIBLE_DEVICES": str(gpu)})
        found = read(log, wait(process, log, patience))
        if not found:
            break
        results += found
        begun = {result.test for result in results}
        left = [test for test in left if test not in begun]
        name += "+"
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="tessera_cuda_tests")
    parser.add_argument("out", type=pathlib.Path, help="folder for the logs, one of each process")
    parser.add_argument("--filter", default="*", help="GoogleTest's (default: all tests)")
    parser.add_argument("--patience", type=int, default=60, metavar="S",
                        help="seconds that a test may be silent (default: %(default)s)")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    start = time.time()
    tests = tests_of(options.program, options.filter)
    alone = [test for test in tests if test.startswith("Failure")]
    others = [test for test in tests if not test.startswith("Failure")]
    devices = gpus()

    def run_on(which, dealt, name):
        return run(options.program, dealt, devices[which], options.out, name, options.patience)

    results = run_on(0, alone, "alone")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for found in [pool.submit(run_on, i, others[i::len(devices)], f"gpu{i}") for i in range(len(devices))]:
            results += found.result()

    wrong = [result for result in results if result.outcome not in ("OK", "SKIPPED")]
    for result in wrong:
        print("\n    ".join([f"{result.outcome}: {result.test} ({result.log})", *result.message[:10]]))
    count = {outcome: sum(result.outcome == outcome for result in results)
             for outcome in ("OK", "SKIPPED", "FAILED")}
    print(f"{len(results)} of {len(tests)} tests in {time.time() - start:.0f} s: {count['OK']} passed, "
          f"{count['SKIPPED']} skipped, {count['FAILED']} failed, {len(wrong) - count['FAILED']} died or hung")
    return 1 if wrong or len(results) < len(tests) else 0


if __name__ == "__main__":
    sys.exit(main())
