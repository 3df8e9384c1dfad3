#!/usr/bin/env python3
"""Draws who includes whom, layer by layer, from the sources as they are, as a Mermaid graph.

Without arguments it prints the graph; `--write docs/architecture.md` puts it between the markers
`<!-- include diagram: begin -->` and `<!-- include diagram: end -->` of that page; `--check FILE`
fails if it is not the graph of today. Arrows run from the includer to what it includes; an arrow
is left out where a longer path of arrows says the same.
"""

import argparse
import collections
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_includes  # noqa: E402

BEGIN = "<!-- include diagram: begin -->"
END = "<!-- include diagram: end -->"
# Layers that a person who looks for the library's structure wants to see.
SHOWN = ("cli", "blas", "report", "api", "plan", "cpu", "cuda", "cuda/ptx", "schedule", "core",
         "tessera")
TITLES = {"tessera": "include/tessera", "api": "src/*.cpp (public calls)", "cli": "cli"}


def edges():
    """How many includes lead from one layer to another; tests do not count."""
    count = collections.Counter()
    for path in check_includes.sources():
        layer = check_includes.layer_of(path)
        if path.stem.endswith("_test") or layer not in SHOWN:
            continue
        for _, _, name in check_includes.includes_of(path):
            included = check_includes.layer_of_include(name)
            if included in SHOWN and included != layer:
                count[layer, included] += 1
    return count


def reduced(count):
    """The edges that no longer path implies."""
    following = collections.defaultdict(set)
    for source, target in count:
        following[source].add(target)

    def reaches(source, target, first):
        return any(step == target or reaches(step, target, False)
                   for step in following[source] if not (first and step == target))

    return [edge for edge in count if not reaches(*edge, True)]


def graph():
    count = edges()
    shown = [layer for layer in SHOWN if any(layer in edge for edge in count)]
    lines = ["```mermaid", "graph TD"]
    for layer in shown:
        name = layer.replace("/", "_")
        lines.append(f'  {name}["{TITLES.get(layer, "src/" + layer)}"]')
    for source, target in sorted(reduced(count), key=lambda edge: [*map(SHOWN.index, edge)]):
        lines.append(f"  {source.replace('/', '_')} --> {target.replace('/', '_')}")
    return "\n".join(lines + ["```"])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", metavar="FILE", type=pathlib.Path)
    parser.add_argument("--check", metavar="FILE", type=pathlib.Path)
    arguments = parser.parse_args()
    page = arguments.write or arguments.check
    if page is None:
        print(graph())
        return 0
    text = page.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        print(f"{page} lacks the markers '{BEGIN}' and '{END}'")
        return 1
    before, rest = text.split(BEGIN, 1)
    new = f"{before}{BEGIN}\n{graph()}\n{END}{rest.split(END, 1)[1]}"
    if arguments.check:
        if new != text:
            print(f"{page}: the include diagram is out of date; "
                  f"run scripts/include_diagram.py --write {page}")
            return 1
        print("include diagram: up to date")
    else:
        page.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
