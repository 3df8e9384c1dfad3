#!/usr/bin/env python3
"""scripts/gpu_tests.py and programs that hang, or seem to: without a GPU.

usage: gpu_tests_script_test.py path/to/gpu_tests.py
"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SCRIPT = pathlib.Path(sys.argv.pop())

# Tests that take as many seconds as their names say.
PROGRAM = """#!/usr/bin/env python3
import sys, time
if "--gtest_list_tests" in sys.argv:
    print("Takes.", "  0", "  {0}", "  1", sep="\\n")
    sys.exit()
flags = next(line.partition("=")[2] for line in sys.argv if line.startswith("--gtest_flagfile="))
for test in open(flags).read().strip().partition("=")[2].split(":"):
    print(f"[ RUN      ] {{test}}", flush=True)
    time.sleep(float(test.partition(".")[2]))
    print(f"[       OK ] {{test}} (1 ms)", flush=True)
"""


class GpuTestsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def start(self, seconds, patience):
        program = self.folder / "program"
        program.write_text(PROGRAM.format(seconds))
        program.chmod(0o755)
        # Nothing but what Linux says of the hanging process.
        tools = self.folder / "tools"
        tools.mkdir()
        for tool in ("python3", "env"):
            (tools / tool).symlink_to(sys.executable if tool == "python3" else "/usr/bin/env")
        return subprocess.Popen([sys.executable, SCRIPT, program, self.folder / "out", "--patience", str(patience)],
                                stdout=subprocess.PIPE, text=True, env=os.environ | {"PATH": str(tools)})

    def test_a_silent_test_is_ended_and_told_of(self):
        script = self.start(seconds=60, patience=2)
        said = script.communicate(timeout=30)[0]
        self.assertEqual(script.returncode, 1)
        self.assertIn("HUNG for 2 s: Takes.60", said)
        self.assertIn("3 of 3 tests", said)
        self.assertIn("2 passed", said)
        where = (self.folder / "out" / "gpu0.log.hang").read_text()
        self.assertRegex(where, r"^\d+\.\d s in user mode, \d+\.\d s in the kernel\n")
        self.assertRegex(where, r"thread \d+ S comm: \S+ wchan: ")

    def test_a_machine_that_stands_still_is_no_hanging_test(self):
        script = self.start(seconds=9, patience=7)
        time.sleep(2)
        script.send_signal(signal.SIGSTOP)
        time.sleep(5)
        script.send_signal(signal.SIGCONT)
        said = script.communicate(timeout=30)[0]
        self.assertEqual(script.returncode, 0, said)
        self.assertRegex(said, r"the machine stood still for \d+ s")
        self.assertIn("3 passed", said)


if __name__ == "__main__":
    unittest.main()
