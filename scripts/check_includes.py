#!/usr/bin/env python3
"""Checks who includes whom, and that every header stands alone.

The layers, as docs/architecture.md draws them: include/tessera <- core <- schedule <- plan, cpu,
cuda <- api, cli. plan, cpu and cuda never include one another; cuda/ptx includes nothing of ours;
and outside cuda/ nothing needs the CUDA toolkit. `--compile` also compiles each header by itself.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

# What the files of a layer may include, besides their own layer.
ALLOWED = {
    "tessera": set(),
    "core": {"tessera"},
    "schedule": {"tessera", "core"},
    "plan": {"tessera", "core", "schedule"},
    "cpu": {"tessera", "core", "schedule"},
    "cuda": {"tessera", "core", "schedule", "cuda/ptx"},
    "cuda/ptx": set(),
    "api": {"tessera", "core", "schedule", "plan", "cpu", "cuda"},
    "report": {"tessera", "core", "schedule", "plan"},
    "cli": {"tessera", "core", "schedule", "plan", "cpu", "cuda", "report", "bench"},
    "bench": {"tessera", "core", "schedule", "plan", "cpu", "cuda", "cli"},
    "blas": {"tessera", "core"},
    "examples": {"tessera"},
    "tests": {"tessera", "core", "schedule", "plan", "cpu", "cuda", "api", "report", "cli", "bench",
              "blas"},
}
# A microkernel's header is compiled for its own instruction set alone.
INSTRUCTION_SETS = ["-mavx2", "-mfma", "-mf16c", "-mavx512f", "-mavx512bw", "-mavx512dq",
                    "-mavx512vl", "-mavx512vnni", "-mavx512bf16"]
SUFFIXES = {".hpp", ".h", ".cuh", ".cpp", ".cu"}
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.MULTILINE)
CUDA_HEADER = re.compile(r"^(cuda|cublas|device_launch|driver_types|mma\.h|cute/|cutlass/)")


def layer_of(path):
    """The layer of a file, by its path from the repository's root; None for files of no layer."""
    parts = path.parts
    if parts[:2] == ("include", "tessera"):
        return "tessera"
    if parts[0] == "src":
        if len(parts) == 2:
            return "api"
        return "cuda/ptx" if parts[1:3] == ("cuda", "ptx") else parts[1]
    return parts[0] if parts[0] in ALLOWED else None


def layer_of_include(name):
    """The layer that an include names, or None for one that is not ours."""
    for prefix in ("include/", "src/"):
        name = name.removeprefix(prefix)
    if name.startswith("cuda/ptx/") and (ROOT / "src" / name).exists():
        return "cuda/ptx"
    first = name.split("/")[0]
    for place in ("include", "src", "."):
        if (ROOT / place / name).is_file() and first in ALLOWED:
            return first
    if "/" not in name and (ROOT / "src" / name).is_file():
        return "api"
    return "tests" if (ROOT / "tests" / name).is_file() else None


def sources():
    for top in ("include", "src", "cli", "bench", "examples", "tests"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix in SUFFIXES:
                yield path.relative_to(ROOT)


def includes_of(path):
    """(line, quoted?, name) of every include."""
    text = (ROOT / path).read_text(encoding="utf-8")
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match.group(1) == '"', match.group(2)


def check_include(path, layer, quoted, name):
    """What is wrong with an include, or None."""
    included = layer_of_include(name)
    generated = name.endswith(".inc")
    if quoted and included is None and not generated and not (ROOT / path.parent / name).is_file():
        return f'"{name}" names no file of ours from include/, src/ or the root'
    if included is not None and included != layer and included not in ALLOWED[layer]:
        if not (included == "tests" and path.stem.endswith(("_test", "_fuzz"))):
            return f"{layer} must not include {included} ({name})"
    if not quoted and CUDA_HEADER.match(name) and "cuda" not in str(path):
        return f"only cuda/ may need the CUDA toolkit ({name})"
    return None


def check_layers():
    complaints = []
    for path in sources():
        layer = layer_of(path)
        if layer not in ALLOWED:
            complaints.append(f"{path}: its folder is no layer; add it to ALLOWED")
            continue
        for line, quoted, name in includes_of(path):
            complaint = check_include(path, layer, quoted, name)
            if complaint:
                complaints.append(f"{path}:{line}: {complaint}")
    return complaints


def compile_alone(header, compiler):
    """The compiler's complaint about a header that is included first and alone, or None."""
    with tempfile.NamedTemporaryFile("w", suffix=".cpp") as source:
        source.write(f'#include "{ROOT / header}"\n')
        source.flush()
        command = [compiler, "-std=c++20", "-fsyntax-only", "-fmax-errors=3", "-fopenmp", "-Wall",
                   "-Wextra", "-Werror", "-Wno-unused-function",
                   *(INSTRUCTION_SETS if layer_of(header) == "cpu" else []),
                   *(f"-I{ROOT / place}" for place in ("include", "src", ".", "tests")),
                   source.name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"{header} does not stand alone:\n{done.stderr}"


def check_headers(compiler):
    # A header that some source includes first is proved by the build, and needs no compiler here.
    proved = set()
    for path in sources():
        first = next((name for _, _, name in includes_of(path)), None)
        if path.suffix == ".cpp" and first is not None:
            proved.add(first)
    headers = [path for path in sources()
               if path.suffix in (".hpp", ".h") and "cuda" not in path.parts]
    unproved = [path for path in headers if path.as_posix() not in proved
                and "/".join(path.parts[1:]) not in proved]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda header: compile_alone(header, compiler), unproved)
    return len(headers), [complaint for complaint in found if complaint]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", action="store_true", help="also compile each header alone")
    parser.add_argument("--compiler", default=os.environ.get("CXX", "c++"))
    arguments = parser.parse_args()

    complaints = check_layers()
    summary = "layers hold"
    if arguments.compile:
        count, found = check_headers(arguments.compiler)
        complaints += found
        summary += f", {count} headers stand alone"
    for complaint in complaints:
        print(complaint)
    if complaints:
        return 1
    print(f"includes: {summary}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
