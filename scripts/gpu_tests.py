#!/usr/bin/env python3
"""Runs the whole GPU suite: first, and alone, the tests that exhaust a device's memory, then the others, dealt
out to the GPUs of this machine, one process each. Processes that share a GPU take turns on it, and nearly
all of a test is short launches: two of them get less done than one. A process that dies or hangs is ended,
reported with the test it was in, and followed by another one for the tests that are left. Where one hangs,
Linux and cuda-gdb (or gdb) are asked before for what its kernels and threads were at: LOG.hang, beside its log. Seconds
in which this script did not run either are the machine's: they are told of, and count for nobody's silence."""

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
STOOD_STILL = 3  # seconds after which one who slept for a tenth of one has not been let run


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


def facts_of(path):
    """Of a process's file in /proc, which may be gone or not ours to read."""
    try:
        return path.read_text().replace("\0", " ").strip()
    except OSError as error:
        return error.strerror


def cpu_seconds(process):
    """Of the process in user and kernel mode: whoever waits for a kernel spins in the first, a driver's call is the second
    or neither."""
    fields = facts_of(pathlib.Path(f"/proc/{process.pid}/stat")).rpartition(")")[2].split()
    ticks = os.sysconf("SC_CLK_TCK")
    return [int(field) / ticks for field in fields[11:13]] if len(fields) > 12 else [0, 0]


def threads_of(process):
    """Where Linux has each thread: its state, what it sleeps on, and its system call."""
    lines = []
    for thread in sorted(pathlib.Path(f"/proc/{process.pid}/task").glob("*")):
        state = facts_of(thread / "stat").rpartition(")")[2].split()[:1]
        lines.append(" ".join([f"thread {thread.name}", *state,
                               *(f"{name}: {facts_of(thread / name)}" for name in ("comm", "wchan", "syscall"))]))
    return lines


def dump(process, to, spent):
    """Where its kernels and threads are. `spent` are its CPU seconds in the silence."""
    with to.open("w") as output:
        print(f"{spent[0]:.1f} s in user mode, {spent[1]:.1f} s in the kernel", *threads_of(process),
              sep="\n", file=output, flush=True)
        debugger = next((found for name in ("cuda-gdb", "gdb") if (found := shutil.which(name))), None)
        if debugger is None:
            return
        questions = ["info cuda kernels", "info cuda blocks", "info cuda warps"] if "cuda" in debugger else []
        command = [debugger, "-p", str(process.pid), "-batch"]
        for question in [*questions, "thread apply all backtrace 30"]:
            command += ["-ex", question]
        try:
            subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=60)
        except subprocess.TimeoutExpired:
            output.write("no more was said within 60 s\n")


def wait(process, log, patience):
    """Empty, or how the process came to its end. It is killed after so many seconds without a word. The wall's clock may be
    set meanwhile, and is not asked."""
    said, silent, before = 0, 0.0, time.monotonic()
    spent = cpu_seconds(process)
    while process.poll() is None:
        time.sleep(0.1)
        now = time.monotonic()
        if now - before > STOOD_STILL:
            print(f"the machine stood still for {now - before:.0f} s ({log})", flush=True)
        else:
            silent += now - before
        before = now
        if said != log.stat().st_size:
            said, silent, spent = log.stat().st_size, 0.0, cpu_seconds(process)
        if silent > patience:
            dump(process, log.with_name(log.name + ".hang"),
                 [end - begin for begin, end in zip(spent, cpu_seconds(process))])
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
