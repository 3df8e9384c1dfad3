#!/usr/bin/env python3
"""Writes the figures of docs/performance.md and docs/performance_cpu.md from the reports in bench/results.

Without arguments it prints every block; `--write docs/performance.md` puts each of that page between its
markers `<!-- figures: NAME -->` and `<!-- end of figures -->`; `--check FILE` fails if a block is
not what the reports of today give. What stands outside the blocks is prose, and holds no figure that
was measured.

A report is what `tessera bench --save` stored (on a GPU: with --device cuda). A new one of a CPU shows
on its pages by itself; one of a GPU stands where a block names it.
"""

import json
import math
import pathlib
import re
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import page_tool  # noqa: E402

RESULTS = pathlib.Path(__file__).resolve().parent.parent / "bench" / "results"
BLOCK = re.compile(r"(?P<begin><!-- figures: (?P<name>[a-z0-9 ]+) -->\n).*?(?P<end><!-- end of figures -->)",
                   re.DOTALL)
# A list of random products says more by its means than by its rows.
MOST_ROWS = 60


def load(name):
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def three_digits(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def duration(seconds):
    for unit, factor in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1:
            return f"{three_digits(seconds * factor)} {unit}"
    return f"{three_digits(seconds * 1e9)} ns"


def size(shape):
    return "×".join(str(extent) for extent in shape)


def short(commit):
    """A commit as people name it, with the word for a tree that had changed since."""
    return re.sub(r"^([0-9a-f]{7})[0-9a-f]*", r"\1", commit)


def listed(values):
    return ", ".join(sorted(set(values)))


# The GPU's reports.

GPU_REPORTS = ("h200_log256", "h200_loguniform", "h200_dense", "h200_decode", "h200_grouped")
EPILOGUE_REPORTS = {"h200_epilogue_bias": "bias", "h200_epilogue_relu": "ReLU", "h200_epilogue_gelu": "bias, GELU",
                    "h200_epilogue_beta": "beta"}


def seconds_of(case, contestant="tessera"):
    return case[contestant]["median_seconds"]


def case_named(report, name):
    return next(case for case in report["cases"] if case["name"] == name)


def path_text(case):
    schedule = case["schedule"]
    splits = f"({schedule['splits']})" if schedule["kind"] == "split_k" else ""
    return f"{case['kernel'].replace('sm90_bf16_', 'sm90_')} {schedule['kind']}{splits}"


def gpu_setup():
    reports = [load(name) for name in GPU_REPORTS]
    machines = {(one["machine"]["name"], one["machine"]["workers"]) for one in reports}
    machine = " and ".join(f"{name} ({workers} multiprocessors)" for name, workers in sorted(machines))
    return (
        f"{machine}, CUDA {listed(one['runtime'] for one in reports)}, against "
        f"{listed(one['peer'] for one in reports if one['peer'])}; commit "
        f"{listed(short(one['commit']) for one in reports)}, {listed(one['date'][:10] for one in reports)}.\n"
        "Reports with every product, spread and clock: "
        + ", ".join(f"[{name}](../bench/results/{name}.json)" for name in GPU_REPORTS) + ".")


def share_of_copy(case, report):
    """What it moves at least, over its time, against the machine's copy bandwidth."""
    m, n, k = case["shapes"][0]
    bytes_moved = 2 * (m * k + k * n + m * n)
    return bytes_moved / seconds_of(case) / report["machine"]["memory_bytes_per_second"]


def goals():
    log256, loguniform = load("h200_log256"), load("h200_loguniform")
    dense, decode = load("h200_dense"), load("h200_decode")

    def mean(report):
        ratios = [case["ratio_first"] for case in report["cases"]]
        return f"{statistics.geometric_mean(ratios):.3f} (median {statistics.median(ratios):.3f})"

    def worst(report):
        case = min(report["cases"], key=lambda one: one["ratio_first"])
        return f"{case['ratio_first']:.2f} at {size(case['shapes'][0])}"

    def ratios(*names):
        return ", ".join(f"{case_named(dense, name)['ratio_first']:.2f}" for name in names)

    def count(report):
        return len(report["cases"])

    few_rows = [case for case in decode["cases"] if case["shapes"][0][1:] == [7168, 16384]]
    host = [duration(log256["summary"][name])
            for name in ("planning_seconds", "run_return_seconds", "gemm_return_seconds")]
    errors = [f"{100 * one['summary']['median_cost_error']:.0f} %" for one in (log256, loguniform)]
    bandwidth = decode["machine"]["memory_bytes_per_second"] * 1e-12
    return table(
        ["what", "must", "aim", "measured"],
        [[f"`log256`, {count(log256)} products, geometric mean", "≥ 0.97", "1.10", mean(log256)],
         [f"`loguniform`, {count(loguniform)} products, geometric mean", "≥ 1.00", "1.25", mean(loguniform)],
         ["worst product of `log256`, of `loguniform`", "≥ 0.80", "0.95",
          f"{worst(log256)}, {worst(loguniform)}"],
         ["8192×8192×8192", "≥ 0.99", "1.03", ratios("8192x8192x8192")],
         ["1536×1792×32000, 1536×1792×6016", "≥ 0.97", "1.08",
          ratios("1536x1792x32000", "1536x1792x6016")],
         ["128×128×131072, 256×256×65536, 128×128×6400", "≥ 0.90", "1.2",
          ratios("128x128x131072", "256x256x65536", "128x128x6400")],
         [", ".join(str(case["shapes"][0][0]) for case in few_rows)
          + f" rows with 7168×16384: share of the {bandwidth:.1f} TB/s of a copy", "≥ 75 %", "90 %",
          ", ".join(f"{100 * share_of_copy(case, decode):.0f} %" for case in few_rows)],
         ["host: planning; a run until it returns; gemm with a cached plan", "≤ 200; ≤ 5 µs", "",
          "; ".join(host)],
         ["cost model, median relative error on `log256`, `loguniform`", "≤ 20 %", "10 %",
          ", ".join(errors)]])


def by_duration():
    edges = (0, 15, 30, 60, 120, math.inf)
    ranges = list(zip(edges, edges[1:]))
    names = [f"{low}–{high} µs" if low and high < math.inf else f"< {high} µs" if high < math.inf
             else f"≥ {low} µs" for low, high in ranges]
    rows = []
    for corpus in ("log256", "loguniform"):
        ratios, lost = [f"`{corpus}`: ratio (products)"], [f"`{corpus}`: longer by, median"]
        for low, high in ranges:
            cases = [case for case in load(f"h200_{corpus}")["cases"]
                     if low <= 1e6 * seconds_of(case, "cublaslt_first") < high]
            mean = statistics.geometric_mean(case["ratio_first"] for case in cases)
            ratios.append(f"{mean:.2f} ({len(cases)})")
            longer = statistics.median(seconds_of(case) - seconds_of(case, "cublaslt_first")
                                       for case in cases)
            lost.append(f"{1e6 * longer:.1f} µs")
        rows += [ratios, lost]
    best = [f"{load(name)['summary']['geometric_mean_over_best']:.3f}"
            for name in ("h200_log256", "h200_loguniform")]
    return (f"Against cuBLASLt's best of eight measured choices the two means are {best[0]} and {best[1]}.\n\n"
            + table(["by the time of cuBLASLt's first choice", *names], rows))


def products():
    rows = []
    for case in load("h200_dense")["cases"]:
        first, best = (seconds_of(case, name) for name in ("cublaslt_first", "cublaslt_best"))
        rows.append([size(case["shapes"][0]), three_digits(1e6 * seconds_of(case)),
                     three_digits(case["tflops"]),
                     f"{three_digits(1e6 * first)}, {three_digits(1e6 * best)}",
                     f"{case['ratio_first']:.2f}", path_text(case)])
    return table(["m×n×k", "µs", "TFLOP/s", "cuBLASLt first, best (µs)", "ratio", "plan"], rows)


def other_lists():
    rows = []
    for name, what in (("h200_decode", "few rows"),):
        report = load(name)
        summary = report["summary"]
        rows.append([what, summary["cases"], f"{summary['geometric_mean_over_first']:.3f}",
                     f"{summary['geometric_mean_over_best']:.3f}",
                     f"{summary['worst_over_first']:.2f} at {summary['worst_case'].replace('x', '×')}"])
    return table(["list", "products", "over the first choice", "over the best of eight", "worst"], rows)


def epilogues():
    """A column for each epilogue: time, and cuBLASLt's over it."""
    reports = {what: load(name) for name, what in EPILOGUE_REPORTS.items()}
    rows = []
    for cases in zip(*(report["cases"] for report in reports.values())):
        if len({case["name"] for case in cases}) != 1:
            raise SystemExit("bench/results: the reports of epilogues have different products")
        rows.append([size(cases[0]["shapes"][0]),
                     *(f"{three_digits(1e6 * seconds_of(case))} ({case['ratio_first']:.2f})" for case in cases)])
    rows.append(["geometric mean", *(f"({report['summary']['geometric_mean_over_first']:.3f})"
                                     for report in reports.values())])
    commit = short(listed(report["commit"] for report in reports.values()))
    links = ", ".join(f"[{what}](../bench/results/{name}.json)" for name, what in EPILOGUE_REPORTS.items())
    return f"Commit {commit}: {links}.\n\n" + table(["m×n×k", *reports], rows)


def groups():
    """One row for each layer of a model; a column for each number of rows in all."""
    speeds, counts = {}, []
    for case in load("h200_grouped")["cases"]:
        layer, rows, split = re.fullmatch(r"(.*), (\d+) rows, (.*)", case["name"]).groups()
        if int(rows) not in counts:
            counts.append(int(rows))
        speeds.setdefault(layer, {}).setdefault(int(rows), {})[split] = three_digits(case["tflops"])
    return table(["layer", *(f"{rows} rows" for rows in counts)],
                 [[layer, *(" / ".join(by_rows[rows].values()) for rows in counts)]
                  for layer, by_rows in speeds.items()])


# Sweeps of the schedules with one kernel.

LAST_WAVE_SWEEP = "h200_last_wave"


def load_sweep(name):
    lines = (RESULTS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    settings, *records = map(json.loads, lines)
    return settings, records


def last_wave():
    """How many times as fast as our own data_parallel each schedule is, by classes of products."""
    settings, records = load_sweep(LAST_WAVE_SWEEP)
    schedules = [name for name in settings["contenders"][1:] if name != "tessera data_parallel"]
    classes = {}
    for record in records:
        plans = {result["name"]: result["seconds"] for result in record["results"]}
        forced = [result for result in record["results"] if result["name"] != "tessera"]
        plans["pick"] = min(forced, key=lambda result: result["predicted_seconds"])["seconds"]
        speeds = [plans["tessera data_parallel"] / plans[name] for name in (*schedules, "pick", "tessera")]
        waves = record["kind"].split(" and ")[0].replace("1 full waves", "1 full wave")
        for what in ("all", waves, f"k = {record['groups'][0]['k']}"):
            classes.setdefault(what, []).append(speeds)
    order = sorted(classes, key=lambda what: (what == "all", what.startswith("k"),
                                              int(what.split()[-1]) if what.startswith("k") else 0, what))
    return (f"{settings['kernel']} on {settings['machine']}; commit {short(settings['commit'])}, "
            f"{settings['date'][:10]}: [sweep](../bench/results/{LAST_WAVE_SWEEP}.jsonl).\n\n"
            + table(["", "products", *(name.removeprefix("tessera ") for name in schedules),
                     "the model's pick of the four", "the planner's choice"],
                    [[what, len(classes[what]), *(f"{statistics.geometric_mean(column):.2f}"
                                                  for column in zip(*classes[what]))]
                     for what in order]))


# The CPUs' reports.

def is_cpu_report(report):
    return "results" in report and "protocol" in report


def cpu_row(result):
    own = result["results"][0]
    wrong = [one["name"] for one in result["results"] if "wrong_result" in one]
    shape = result["groups"]
    peer = result.get("best_peer")
    return [size(shape[0]) if len(shape) == 1 else result["shape"].replace("|", "/"),
            result["types"].replace("->", "→").replace("*", "·"), result["threads"],
            duration(own["median_seconds"]), f"{own['gflops']:.1f}",
            f"{100 * result['share_of_bound']:.0f} % ({result['bound_by']})",
            f"{peer.split()[0]} {duration(best_peer_seconds(result))}" if peer else "",
            (f"{result['ratio_to_best_peer']:.2f}" if peer else "")
            + (f" **wrong: {', '.join(wrong)}**" if wrong else "")]


def best_peer_seconds(result):
    return next(one["median_seconds"] for one in result["results"]
                if f"{one['name']} {one['detail']}" == result["best_peer"])


def means(results):
    """The geometric means of the shares of the bound and of the ratios, and the worst ratio."""
    shares = [max(result["share_of_bound"], 1e-9) for result in results]
    ratios = [result["ratio_to_best_peer"] for result in results if "best_peer" in result]
    return [len(results), f"{100 * statistics.geometric_mean(shares):.0f} %",
            f"{statistics.geometric_mean(ratios):.3f}" if ratios else "",
            f"{min(ratios):.2f}" if ratios else ""]


def cpu_means(report):
    kinds = {}
    for result in report["results"]:
        key = (result["kind"] or "all", result["types"].replace("->", "→").replace("*", "·"),
               result["threads"])
        kinds.setdefault(key, []).append(result)
    rows = [[*key, *means(results)] for key, results in kinds.items()]
    return table(["kind", "type", "threads", "products", "share of bound", "ratio", "worst ratio"], rows)


def cpu_section(name, report):
    machine, protocol = report["machine"], report["protocol"]
    peers = [f"{peer['name']} ({peer['version']})" for peer in report["peers"]]
    parts = [
        f"### {name}",
        f"{machine['name']}, {machine['cores']} cores, {machine['architecture']}; {protocol['caches']} caches, "
        f"{protocol['seconds_per_contender']:g} s for each contender, {protocol['order']}; "
        + ("" if report.get("trans", "NN") == "NN" else f"layouts {report['trans']}; ")
        + (f"against {', '.join(peers)}; " if peers else "no peer; ")
        + f"commit {short(report['commit'])}, {report['date'][:10]}: [report](../bench/results/{name}.json).",
        "Geometric means:", cpu_means(report)]
    if len(report["results"]) <= MOST_ROWS:
        parts.append(table(["product", "type", "threads", "time", "GFLOP/s", "share of bound",
                            "best peer", "ratio"], [cpu_row(result) for result in report["results"]]))
    return "\n\n".join(parts)


# bench/moe_torch.py's report.

MOE_REPORT = "h200_moe_torch"


def experts():
    report = load(MOE_REPORT)
    suites = {}
    for result in report["results"]:
        sizes = "uniform" if result["sizes"] == "uniform" else "skewed"
        suites.setdefault((result["name"].split(", ")[0], result["groups"], result["n"], result["k"], sizes),
                          []).append(result)
    rows = []
    for (suite, groups, n, k, sizes), results in suites.items():
        shares = [result["share_of_bound"] for result in results]
        row = [suite, f"{groups} × {n} × {k}", sizes, f"{100 * statistics.geometric_mean(shares):.0f} %"]
        for name in results[0]["ratio"]:
            ratios = [result["ratio"][name] for result in results]
            row.append(f"{statistics.geometric_mean(ratios):.2f} ({min(ratios):.2f})")
        rows.append(row)
    others = list(report["results"][0]["ratio"])
    extras = [f"- {extra['name']}: " + ", ".join(
        f"{duration(time['median_seconds'])} {name}" for name, time in extra["timings"].items())
        for extra in report["extras"]]
    return "\n\n".join([
        f"{report['gpu']}, torch {report['torch']}, bf16, weights stored as "
        f"{'[G, N, K]' if report['protocol']['weights'] == 'nk' else '[G, K, N]'}, sizes in device memory, "
        f"{', '.join(map(str, sorted({result['rows'] for result in report['results']})))} rows in all; commit "
        f"{short(report['commit'])}, {report['date'][:10]}: [report](../bench/results/{MOE_REPORT}.json). Others' "
        "times over ours, geometric mean and in brackets the worst:",
        table(["layer", "experts × N × K", "sizes", "share of the bound", *others], rows),
        "\n".join(extras)])


def cpu_reports():
    reports = {path.stem: load(path.stem) for path in sorted(RESULTS.glob("*.json"))
               if path.stem != MOE_REPORT}
    unknown = [name for name, report in reports.items()
               if name not in (*GPU_REPORTS, *EPILOGUE_REPORTS) and not is_cpu_report(report)]
    if unknown:
        raise SystemExit(f"bench/results: {', '.join(unknown)}: neither a CPU's report nor named by a block "
                         "of scripts/performance_page.py")
    return {name: report for name, report in reports.items() if is_cpu_report(report)}


def cpu():
    return "\n\n".join(cpu_section(name, report) for name, report in cpu_reports().items())


def cpu_summary():
    """One row for each report."""
    rows = []
    for name, report in cpu_reports().items():
        machine, what = re.fullmatch(r"cpu_(.*?)_((?:grouped_|weights_|packed_)?[a-z0-9]+)_\d+threads?", name).groups()
        what = what.replace("grouped_", "experts, ").replace("weights_", "weights along k, ")
        what = what.replace("packed_", "weights packed ahead, ")
        rows.append([machine.replace("_", " ").title(), what,
                     report["results"][0]["threads"], *means(report["results"]), f"{short(report['commit'])}, {report['date'][:10]}",
                     f"[products](performance_cpu.md#{name})"])
    return table(["machine", "type", "threads", "products", "share of bound", "ratio", "worst ratio", "commit", ""],
                 rows)


PAGES = {
    "performance.md": {"gpu setup": gpu_setup, "goals": goals, "by duration": by_duration, "products": products,
                       "other lists": other_lists, "epilogues": epilogues, "last wave": last_wave, "groups": groups,
                       "experts": experts, "cpu means": cpu_summary},
    "performance_cpu.md": {"cpu": cpu},
}


def filled(text, page):
    """The page with today's figures."""
    if page.name not in PAGES:
        raise SystemExit(f"{page}: must be one of {', '.join(PAGES)}")
    blocks = PAGES[page.name]
    names = [match["name"] for match in BLOCK.finditer(text)]
    if sorted(names) != sorted(blocks):
        raise SystemExit(f"{page}: must have one block for each of {', '.join(blocks)}; "
                         f"has {', '.join(names) or 'none'}")
    return BLOCK.sub(lambda match: f"{match['begin']}{blocks[match['name']]()}\n{match['end']}", text)


def printed():
    return "\n\n".join(f"<!-- figures: {name} -->\n{block()}"
                       for blocks in PAGES.values() for name, block in blocks.items())


if __name__ == "__main__":
    sys.exit(page_tool.run(__file__, __doc__, "table of figures", printed, filled))
