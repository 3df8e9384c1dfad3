#!/usr/bin/env python3
"""Draws who includes whom, layer by layer, from the sources as they are, as a Mermaid graph.

Without arguments it prints the graph; `--write docs/architecture.md` puts it between the markers
`<!-- include diagram: begin -->` and `<!-- include diagram: end -->` of that page; `--check FILE`
fails if it is not the graph of today. Arrows run from the includer to what it includes; an arrow
is left out where a longer path of arrows says the same.
"""

import collections
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_includes  # noqa: E402
import page_tool  # noqa: E402

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


def filled(text, page):
    if BEGIN not in text or END not in text:
        raise SystemExit(f"{page} lacks the markers '{BEGIN}' and '{END}'")
    before, rest = text.split(BEGIN, 1)
    return f"{before}{BEGIN}\n{graph()}\n{END}{rest.split(END, 1)[1]}"


if __name__ == "__main__":
    sys.exit(page_tool.run(__file__, __doc__, "include diagram", graph, filled))
