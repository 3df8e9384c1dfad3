#!/usr/bin/env python3
"""Compiles and runs the examples in a page of documentation.

Every fenced block of a language named here is a whole program that must end with status 0:
`run_examples.py PAGE WORK_FOLDER cpp='g++ -std=c++20 {source} -o {program}' python='python3 {source}'`
"""

import pathlib
import re
import shlex
import subprocess
import sys

EXTENSIONS = {"cpp": "cpp", "c": "c", "python": "py"}


def main() -> int:
    page = pathlib.Path(sys.argv[1])
    work = pathlib.Path(sys.argv[2])
    commands = dict(argument.split("=", 1) for argument in sys.argv[3:])
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", page.read_text("utf-8"), re.S | re.M)
    examples = [(language, code) for language, code in blocks if language in commands]
    if not examples:
        print(f"{page} has no example in {', '.join(commands)}")
        return 1
    work.mkdir(parents=True, exist_ok=True)
    for number, (language, code) in enumerate(examples):
        program = work / f"{page.stem}_{number}"
        source = program.with_suffix("." + EXTENSIONS[language])
        source.write_text(code, "utf-8")
        command = commands[language].format(source=source, program=program)
        subprocess.run(shlex.split(command), check=True)
        if language != "python":
            subprocess.run([program], check=True)
        print(f"{page.name}: example {number} works")
    return 0


if __name__ == "__main__":
    sys.exit(main())
