"""Plans as Python sees them, and the package's own promises."""

import collections
import html.parser
import importlib.metadata
import importlib.resources
import json
import subprocess
import sys

import numpy as np
import pytest

import tessera


def test_a_tile_that_is_too_large_is_refused():
    with pytest.raises(tessera.InvalidArgumentError, match="block_m"):
        tessera.plan((100, 100, 100), tile=(2**32 + 64, 64, 64))


def test_the_worked_example():
    plan = tessera.plan((1536, 1792, 6016), tile=(128, 128, 32), workers=82, schedule="hybrid")
    assert plan.tile == (128, 128, 32)
    assert plan.decomposition["tiles"] == 168
    assert plan.decomposition["stream_k_tiles"] == 86
    assert plan.decomposition["iterations_per_worker"] == 197
    assert plan.decomposition["leftover_iterations"] == 14
    assert "197 per worker and 14 left over" in plan.explain()


def test_plans_for_machines_that_are_not_here():
    plan = tessera.plan((4096, 4096, 4096), types="bf16", machine="h200")
    assert plan.schedule["workers"] > 2 and plan.seconds > 0
    with pytest.raises(tessera.InvalidArgumentError, match="h200"):
        tessera.plan((1, 1, 1), machine="abacus")


def test_a_plan_runs():
    a = np.arange(20.0).reshape(4, 5)
    b = np.arange(15.0).reshape(5, 3)
    plan = tessera.plan(a, b, schedule="stream_k", workers=3, tile=(2, 16, 2))
    np.testing.assert_array_equal(plan(a, b), a @ b)
    again = tessera.Plan.from_json(plan.to_json())
    out = np.empty((4, 3))
    assert again(a, b, out=out) is out
    np.testing.assert_array_equal(out, a @ b)
    with pytest.raises(tessera.InvalidArgumentError, match="4×3×5"):
        plan(a[:2], b)
    with pytest.raises(tessera.Error, match="schema|document|plan"):
        tessera.Plan.from_json("{}")


def test_a_group_runs():
    shapes = [(3, 4, 5), (6, 7, 8)]
    a = [np.ones((m, k), np.float32) for m, n, k in shapes]
    b = [np.ones((k, n), np.float32) for m, n, k in shapes]
    plan = tessera.plan(shapes)
    assert plan.shapes == shapes
    for got, x, y in zip(plan.run(a, b), a, b):
        np.testing.assert_array_equal(got, x @ y)


def test_pictures_for_people():
    plan = tessera.plan((64, 64, 64), keep_others=True)
    page = plan._repr_html_()
    assert page.count("<table>") >= 2 and plan.kernel in page
    assert plan.kernel in repr(plan)
    text = tessera.explain((64, 64, 64))
    assert "because" in text and "rejected" in text


class Outline(html.parser.HTMLParser):
    """Which elements a page has, and that each is closed in its turn."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.open, self.text = collections.Counter(), [], []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.elements[tag] += 1
        self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements[tag] += 1

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_a_notebook_shows_pictures():
    plan = tessera.plan((1536, 1792, 6016), machine="h200", workers=82, schedule="hybrid")
    page = plan._repr_html_()
    outline = Outline(page)
    assert outline.elements["figure"] == 3 and outline.elements["script"] == 0
    assert outline.elements["rect"] > 200 and outline.elements["path"] > 100
    assert "MAC iterations done" in outline.text and "arithmetic" in outline.text
    # Nothing is fetched, and no rule reaches beyond the plan's own element.
    assert "//" not in page.replace("http://www.w3.org/2000/svg", "") and "url(" not in page
    assert "<style>\n.tessera-plan {" in page and ":root" not in page
    assert len(page) < 500_000


def test_names_from_files_are_text_in_a_notebook():
    document = json.loads(tessera.plan((64, 64, 64), machine="zen4").to_json())
    hostile = "<script>alert('\"&')</script>"
    document["machine"]["name"] = document["reason"] = hostile
    document["cost"]["terms"][0]["name"] = hostile
    page = tessera.Plan.from_json(json.dumps(document))._repr_html_()
    outline = Outline(page)
    assert outline.elements["script"] == 0
    assert hostile in outline.text


def test_the_package_is_complete():
    files = {entry.name for entry in importlib.resources.files("tessera").iterdir()}
    assert {"py.typed", "_tessera.pyi", "torch.py", "jax.py"} <= files
    try:
        version = importlib.metadata.version("tessera")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the package is on the path, but not installed")
    assert version == tessera.__version__


def test_no_framework_and_no_thread_at_import():
    program = (
        "import sys, tessera\n"
        "assert not {'numpy', 'torch', 'jax', 'cupy'} & set(sys.modules)\n"
        "status = open('/proc/self/status').read()\n"
        "assert 'Threads:\\t1\\n' in status, status\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
