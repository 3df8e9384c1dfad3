#!/usr/bin/env python3
"""Layers of experts: Tessera beside torch's grouped product, and DeepGEMM where it is installed.

One process, bf16, sizes in the GPU's memory for everyone, operands of normal random numbers. The
contenders take turns in alternating order; before each run 256 MB are written and others read, so
that the L2 cache is cold and holds nothing that has still to be written back, and a pause on the
device lets the host queue what is timed. Each result is compared with float32 products of single
experts, on sampled rows. The bound of a layer is max(FLOPs / rate of torch.mm at 8192^3, bytes /
rate of a copy), both measured here.

Prints a table and writes JSON. Beside the layers: 128 empty groups added to 8, and 43 tiny
products against one cuBLAS call each in a CUDA graph.
"""

import argparse
import csv
import datetime
import importlib.util
import json
import math
import pathlib
import statistics
import subprocess
import sys

import numpy as np
import torch

import tessera
import tessera.torch

ROOT = pathlib.Path(__file__).resolve().parent.parent
DTYPE = torch.bfloat16
PAUSE_CYCLES = 600_000  # about 0.3 ms
MOST_ERROR = 1e-2  # of a sampled row, relative to its norm: bf16 rounds to 2^-9
# 43 of these two are as many tiny products as the two have 64x64 tiles.
TINY = ((192, 320, 128), (256, 448, 192))


class Stopwatch:
    """Alternating runs with a cold cache."""

    def __init__(self, repeats):
        self.repeats = repeats
        self.written = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
        self.read = torch.zeros(64 << 20, dtype=torch.int32, device="cuda")

    def flush(self):
        self.written.zero_()
        self.read.max()

    def race(self, contenders, repeats=None):
        """Timings by name: {median, lowest, spread}, seconds."""
        repeats = repeats or self.repeats
        for call in contenders.values():
            call()
        torch.cuda.synchronize()
        events = []
        names = list(contenders)
        for repeat in range(repeats):
            for name in names if repeat % 2 == 0 else reversed(names):
                start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                torch.cuda._sleep(PAUSE_CYCLES)
                self.flush()
                start.record()
                contenders[name]()
                end.record()
                events.append((name, start, end))
        torch.cuda.synchronize()
        seconds = {name: [] for name in names}
        for name, start, end in events:
            seconds[name].append(start.elapsed_time(end) * 1e-3)
        return {name: summary(values) for name, values in seconds.items()}


def summary(seconds):
    quartiles = statistics.quantiles(seconds, n=4)
    median = statistics.median(seconds)
    return {
        "median_seconds": median,
        "lowest_seconds": min(seconds),
        "interquartile_spread": (quartiles[2] - quartiles[0]) / median,
    }


def read_layers(path, only):
    with open(path, encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file)]
    layers = []
    for row in rows:
        name = f"{row['suite']}, {row['total_rows']} rows, {row['sizes']}"
        if only not in name:
            continue
        layers.append({
            "name": name,
            "groups": int(row["groups"]),
            "n": int(row["n"]),
            "k": int(row["k"]),
            "rows": int(row["total_rows"]),
            "sizes": row["sizes"],
        })
    if not layers:
        sys.exit(f"no layer of {path} has '{only}' in its name")
    return layers


def draw_sizes(layer, seed):
    """Rows of each expert: multinomial, with equal probabilities or flat Dirichlet ones."""
    generator = np.random.default_rng([seed, layer["groups"], layer["rows"]])
    groups = layer["groups"]
    shares = np.full(groups, 1 / groups)
    if layer["sizes"] != "uniform":
        shares = generator.dirichlet(np.full(groups, float(layer["sizes"][10:-1])))
    return generator.multinomial(layer["rows"], shares)


class Layer:
    """One layer's operands; weights are stored (groups, n, k), as torch's linear layers keep them,
    or (groups, k, n)."""

    def __init__(self, counts, n, k, weights):
        self.counts = [int(count) for count in counts]
        rows = sum(self.counts)
        groups = len(self.counts)
        self.a = torch.randn(rows, k, dtype=DTYPE, device="cuda")
        if weights == "nk":
            self.b = torch.randn(groups, n, k, dtype=DTYPE, device="cuda").transpose(1, 2)
        else:
            self.b = torch.randn(groups, k, n, dtype=DTYPE, device="cuda")
        ends = np.cumsum(self.counts)
        self.ends = torch.tensor(ends, dtype=torch.int32, device="cuda")
        self.offsets = torch.tensor([0, *ends], dtype=torch.int32, device="cuda")
        self.out = torch.empty(rows, n, dtype=DTYPE, device="cuda")
        self.flops = 2.0 * rows * n * k
        full = sum(count > 0 for count in self.counts)
        self.bytes = 2.0 * (rows * k + full * n * k + rows * n)

    def tessera(self):
        tessera.ragged_gemm(self.a, self.b, self.offsets, out=self.out)
        return self.out

    def torch(self):
        return grouped_mm(self.a, self.b, self.ends)

    def error(self, result):
        """The worst error of a row, relative to its norm, over a few rows of each expert."""
        worst = 0.0
        first = 0
        for group, count in enumerate(self.counts):
            if count > 0:
                rows = sorted({0, count // 2, count - 1})
                index = torch.tensor([first + row for row in rows], device="cuda")
                expected = self.a[index].float() @ self.b[group].float()
                gap = result[index].float() - expected
                error = (gap.norm(dim=1) / expected.norm(dim=1).clamp_min(1e-30)).max().item()
                worst = math.inf if math.isnan(error) else max(worst, error)
            first += count
        return worst


def find_grouped_mm():
    """torch's own grouped product, under the name that this version has for it."""
    public = getattr(torch.nn.functional, "grouped_mm", None)
    if public is not None:
        return "torch.nn.functional.grouped_mm", lambda a, b, ends: public(a, b, offs=ends)
    private = getattr(torch, "_grouped_mm", None)
    if private is not None:
        return "torch._grouped_mm", lambda a, b, ends: private(a, b, ends)
    return "", None


grouped_mm_name, grouped_mm = find_grouped_mm()


class DeepGemm:
    """DeepGEMM wants every expert's rows padded to its alignment; the padding is not timed."""

    def __init__(self):
        import deep_gemm

        self.library = deep_gemm
        self.multiply = getattr(deep_gemm, "m_grouped_bf16_gemm_nt_contiguous", None)

    def prepare(self, layer):
        alignment = self.library.get_m_alignment_for_contiguous_layout()
        padded = [-(-count // alignment) * alignment for count in layer.counts]
        a = torch.zeros(sum(padded), layer.a.shape[1], dtype=DTYPE, device="cuda")
        of_row = torch.full((sum(padded),), -1, dtype=torch.int32, device="cuda")
        place = first = 0
        self.rows = []
        for group, (count, room) in enumerate(zip(layer.counts, padded)):
            a[place : place + count] = layer.a[first : first + count]
            of_row[place : place + room] = group
            self.rows.append(torch.arange(place, place + count, device="cuda"))
            place, first = place + room, first + count
        out = torch.empty(sum(padded), layer.b.shape[2], dtype=DTYPE, device="cuda")
        weights = layer.b.transpose(1, 2)
        if not weights.is_contiguous():
            weights = weights.contiguous()

        def run():
            self.multiply(a, weights, out, of_row)
            return out

        return run

    def unpadded(self, out):
        return out[torch.cat(self.rows)]


def measure_limits(stopwatch):
    edge = 8192
    a, b = (torch.randn(edge, edge, dtype=DTYPE, device="cuda") for _ in range(2))
    c = torch.empty_like(a)
    source = torch.empty(2 << 30, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    times = stopwatch.race({
        "mm": lambda: torch.mm(a, b, out=c),
        "copy": lambda: target.copy_(source),
    }, repeats=7)
    return {
        "flops_per_second": 2.0 * edge**3 / times["mm"]["median_seconds"],
        "flops_source": "torch.mm, 8192x8192x8192",
        "bytes_per_second": 2.0 * source.numel() / times["copy"]["median_seconds"],
        "bytes_source": "a copy of 2 GiB, read and written",
    }


def measure_layer(description, counts, stopwatch, limits, weights, deep_gemm):
    layer = Layer(counts, description["n"], description["k"], weights)
    contenders = {"tessera": layer.tessera}
    results = {"tessera": lambda: layer.tessera()}
    if grouped_mm is not None:
        contenders[grouped_mm_name] = layer.torch
        results[grouped_mm_name] = layer.torch
    if deep_gemm is not None:
        run = deep_gemm.prepare(layer)
        contenders["deep_gemm, padded beforehand"] = run
        results["deep_gemm, padded beforehand"] = lambda: deep_gemm.unpadded(run())
    errors = {}
    for name, result in results.items():
        layer.out.fill_(math.nan)
        errors[name] = layer.error(result())
    times = stopwatch.race(contenders)
    bound = max(layer.flops / limits["flops_per_second"], layer.bytes / limits["bytes_per_second"])
    ours = times["tessera"]["median_seconds"]
    return {
        **description,
        "rows_of_groups": layer.counts,
        "flops": layer.flops,
        "bytes": layer.bytes,
        "bound_seconds": bound,
        "bound_by": "memory" if layer.bytes / limits["bytes_per_second"] == bound else "arithmetic",
        "share_of_bound": bound / ours,
        "timings": times,
        "ratio": {name: time["median_seconds"] / ours for name, time in times.items()
                  if name != "tessera"},
        "errors": errors,
    }


def as_graph(call):
    """The call, recorded into a CUDA graph on a stream of its own, where it ran once before."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        call()
    return graph.replay


def measure_empty_groups(stopwatch, weights):
    few = Layer([128] * 8, 2048, 768, weights)
    many = Layer(([128] + [0] * 16) * 8, 2048, 768, weights)
    contenders = {"8 groups": few.tessera, "8 groups and 128 empty ones": many.tessera}
    if grouped_mm is not None:
        contenders["torch, 8 groups"] = few.torch
        contenders["torch, 8 groups and 128 empty ones"] = many.torch
    return {"name": "128 empty groups added to 8 of 128x2048x768",
            "timings": stopwatch.race(contenders, 2 * stopwatch.repeats)}


def measure_tiny_products(stopwatch):
    shapes = [TINY[i % 2] for i in range(43)]
    a = [torch.randn(m, k, dtype=DTYPE, device="cuda") for m, _, k in shapes]
    b = [torch.randn(k, n, dtype=DTYPE, device="cuda") for _, n, k in shapes]
    ours, theirs = ([torch.empty(m, n, dtype=DTYPE, device="cuda") for m, n, _ in shapes]
                    for _ in range(2))

    def each():
        for x, y, z in zip(a, b, theirs):
            torch.mm(x, y, out=z)

    times = stopwatch.race({
        "tessera.grouped_gemm, in a graph": as_graph(lambda: tessera.grouped_gemm(a, b, out=ours)),
        "one torch.mm each, in a graph": as_graph(each),
    }, 2 * stopwatch.repeats)
    gap = max(((x - y).float().norm() / y.float().norm()).item() for x, y in zip(ours, theirs))
    return {"name": "43 products of 192x320x128 and 256x448x192", "timings": times, "error": gap}


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(value) for value in values)) if values else None


def summarize(results):
    pairs = {}
    for result in results:
        layer = result["name"].rsplit(", ", 1)[0]
        pairs.setdefault(layer, {})[result["sizes"] == "uniform"] = result
    skew = [{"name": layer, "groups": pair[False]["groups"],
             "ratio": pair[False]["timings"]["tessera"]["median_seconds"]
             / pair[True]["timings"]["tessera"]["median_seconds"]}
            for layer, pair in pairs.items() if len(pair) == 2]
    skewed = [result for result in results if result["sizes"] != "uniform"]
    out = {"layers": len(results), "skewed_over_uniform": skew}
    for label, some in (("all", results), ("skewed", skewed)):
        part = {"geometric_mean_share_of_bound": geometric_mean([r["share_of_bound"] for r in some])}
        for name in some[0]["ratio"] if some else ():
            ratios = [result["ratio"][name] for result in some]
            worst = min(some, key=lambda result: result["ratio"][name])
            part[name] = {"geometric_mean_ratio": geometric_mean(ratios), "worst_ratio": min(ratios),
                          "worst_layer": worst["name"]}
        out[label] = part
    return out


def print_layer(result):
    ours = result["timings"]["tessera"]
    ratios = "  ".join(f"{ratio:6.3f} {name}" for name, ratio in result["ratio"].items())
    wrong = [name for name, error in result["errors"].items() if not error <= MOST_ERROR]
    print(f"{result['name']:<58.58} {ours['median_seconds'] * 1e6:9.1f} us "
          f"±{50 * ours['interquartile_spread']:4.1f} %  {100 * result['share_of_bound']:5.1f} % of the bound  "
          f"{ratios}{'  WRONG: ' + ', '.join(wrong) if wrong else ''}", flush=True)
    return wrong


def commit_of_source():
    try:
        return subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty", "--abbrev=12"],
                              capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", type=pathlib.Path, default=ROOT / "bench/shapes/grouped.csv",
                        help="layers, as CSV")
    parser.add_argument("--only", default="", help="layers whose name has this in it")
    parser.add_argument("--weights", choices=("nk", "kn"), default="nk", help="how they are stored")
    parser.add_argument("--repeats", type=int, default=15, help="timed runs of each contender")
    parser.add_argument("--seed", type=int, default=0, help="of sizes and operands")
    parser.add_argument("--commit", default=commit_of_source(), help="what the report says was measured")
    parser.add_argument("--json", type=pathlib.Path, help="write a report there")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("moe_torch: torch sees no GPU")
    torch.manual_seed(arguments.seed)
    torch.backends.cuda.matmul.allow_tf32 = False

    stopwatch = Stopwatch(arguments.repeats)
    deep_gemm = DeepGemm() if importlib.util.find_spec("deep_gemm") else None
    if deep_gemm is not None and deep_gemm.multiply is None:
        print("moe_torch: this DeepGEMM has no bf16 grouped product; left out")
        deep_gemm = None
    limits = measure_limits(stopwatch)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, Tessera {tessera.__version__}; "
          f"{limits['flops_per_second'] * 1e-12:.0f} TFLOP/s, {limits['bytes_per_second'] * 1e-12:.2f} TB/s; "
          "ratios are the others' times over ours")
    results = []
    wrong = []
    for layer in read_layers(arguments.list, arguments.only):
        counts = draw_sizes(layer, arguments.seed)
        results.append(measure_layer(layer, counts, stopwatch, limits, arguments.weights, deep_gemm))
        wrong += print_layer(results[-1])
    extras = [measure_empty_groups(stopwatch, arguments.weights), measure_tiny_products(stopwatch)]
    for extra in extras:
        print(extra["name"])
        for name, time in extra["timings"].items():
            print(f"  {time['median_seconds'] * 1e6:9.2f} us ±{50 * time['interquartile_spread']:4.1f} %  {name}")
    found = summarize(results)
    print(json.dumps({key: found[key] for key in ("all", "skewed")}, indent=1))
    for pair in found["skewed_over_uniform"]:
        print(f"skewed over uniform {pair['ratio']:.3f}: {pair['name']}")
    if arguments.json:
        report = {
            "schema": 1, "suite": "moe beside torch", "commit": arguments.commit,
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "gpu": torch.cuda.get_device_name(), "torch": torch.__version__,
            "cuda": torch.version.cuda, "tessera": tessera.__version__,
            "deep_gemm": getattr(deep_gemm and deep_gemm.library, "__version__", None),
            "protocol": {"cache": "cold", "order": "alternating", "repeats": arguments.repeats,
                         "weights": arguments.weights, "seed": arguments.seed},
            "limits": limits, "summary": found, "extras": extras, "results": results,
        }
        arguments.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if wrong:
        sys.exit(f"moe_torch: wrong results: {', '.join(sorted(set(wrong)))}")


if __name__ == "__main__":
    main()
