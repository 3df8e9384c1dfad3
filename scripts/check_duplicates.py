#!/usr/bin/env python3
"""Finds code that stands twice: runs of six or more equal lines, in two files or in one.

White space, blank lines, comments, includes and lone punctuation do not count. A run that is
rightly there twice is marked in either place with a comment `duplicate: <reason>` before it.
"""

import argparse
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOPS = ("include", "src", "cli", "bench", "examples", "tests", "scripts", "cmake", "python")
SUFFIXES = {".hpp", ".h", ".cuh", ".cpp", ".cu", ".py", ".sh", ".cmake"}
WORTH_NOTHING = re.compile(
    r"^(//.*|#.*|[\W_]*|using .*;"
    r"|(else|return|break|default:|public:|private:|namespace .*)[\s;{]*)$")


def code_lines(path):
    """(line number, text) of the lines that count; a marked run starts a new stretch with None."""
    lines = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        text = " ".join(line.split())
        if "duplicate:" in text:
            lines.append((number, None))
        elif not WORTH_NOTHING.match(text) or text.startswith(("#pragma omp", "#define")):
            lines.append((number, text))
    return lines


def find(files, length):
    """Pairs of places, longest first: (lines, path, first, last, path, first, last)."""
    code = {path: code_lines(path) for path in files}
    windows = collections.defaultdict(list)
    for path, lines in code.items():
        for start in range(len(lines) - length + 1):
            window = tuple(text for _, text in lines[start:start + length])
            if None not in window:
                windows[window].append((path, start))

    pairs = []
    seen = set()
    for places in windows.values():
        for i, (path_a, start_a) in enumerate(places):
            for path_b, start_b in places[i + 1:]:
                if (path_a, start_a, path_b, start_b) in seen:
                    continue
                a, b = code[path_a], code[path_b]
                count = 0
                while (start_a + count < len(a) and start_b + count < len(b)
                       and a[start_a + count][1] == b[start_b + count][1] is not None
                       and not (path_a == path_b and start_a + count >= start_b)):
                    seen.add((path_a, start_a + count, path_b, start_b + count))
                    count += 1
                if count >= length:
                    pairs.append((count, path_a, a[start_a][0], a[start_a + count - 1][0],
                                  path_b, b[start_b][0], b[start_b + count - 1][0]))
    return sorted(pairs, key=lambda pair: -pair[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=6, help="how many equal lines make a run (6)")
    arguments = parser.parse_args()
    files = [path for top in TOPS for path in sorted((ROOT / top).rglob("*"))
             if path.suffix in SUFFIXES]
    pairs = find(files, arguments.lines)
    for count, path_a, first_a, last_a, path_b, first_b, last_b in pairs:
        print(f"{path_a.relative_to(ROOT)}:{first_a}-{last_a} ~ "
              f"{path_b.relative_to(ROOT)}:{first_b}-{last_b}: {count} equal lines; "
              "let one piece of code serve both")
    if pairs:
        return 1
    print(f"duplicates: none in {len(files)} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
