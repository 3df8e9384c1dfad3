#!/usr/bin/env python3
"""Opens the command's pages in a headless Chromium: they render, complain of nothing, fetch nothing,
and hovering shows the work item.

    browser_test.py path/to/tessera        exits with 77 (skipped) where there is no Chromium
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from browser import Browser, distinct_colours, find_chromium  # noqa: E402

SKIPPED = 77
SHOWCASE = ["1536x1792x6016", "--type", "bf16", "--machine", "h200", "--workers", "82",
            "--tile", "128x128x32", "--schedule", "hybrid"]


class PagesTest(unittest.TestCase):
    tessera = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="tessera-pages-")
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls.folder.cleanup()

    def path(self, name):
        return pathlib.Path(self.folder.name) / name

    def run_tessera(self, *arguments):
        return subprocess.run([self.tessera, *map(str, arguments)], check=True, text=True,
                              capture_output=True, timeout=240).stdout

    def explain(self, name, *arguments):
        path = self.path(name)
        if not path.exists():
            self.run_tessera("explain", *arguments, "--html", path)
        return path

    def check_page(self, path, **how):
        page = self.browser.open(path, **how)
        self.assertEqual(page.complaints(), [])
        # Nothing is wider than the window but what scrolls inside its own box.
        self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"),
                             page.evaluate("innerWidth"))
        self.assertGreater(distinct_colours(page.screenshot((0, 0, how.get("width", 1080), 250))), 20)
        for picture in range(page.evaluate("document.querySelectorAll('figure svg[role=img]').length")):
            box = page.evaluate(f"""(() => {{
                const box = document.querySelectorAll('figure svg[role=img]')[{picture}]
                    .getBoundingClientRect();
                return [box.left, box.top + scrollY, box.width, box.height];
            }})()""")
            self.assertGreater(box[2], 100)
            self.assertGreater(box[3], 30)
        return page

    def test_explain_renders_in_light_and_dark(self):
        path = self.explain("showcase.html", *SHOWCASE)
        backgrounds = []
        for dark in (False, True):
            page = self.check_page(path, dark=dark)
            backgrounds.append(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))
            chart = page.evaluate("""(() => {
                const box = document.querySelector('svg .t0').closest('svg').getBoundingClientRect();
                return [box.left, box.top + scrollY, box.width, 200];
            })()""")
            self.assertGreater(distinct_colours(page.screenshot(chart)), 8)
        self.assertNotEqual(*backgrounds)

    def test_explain_on_a_phone(self):
        page = self.check_page(self.explain("showcase.html", *SHOWCASE), width=390, height=844, mobile=True)
        # Text in pictures stays legible: they are scrolled rather than shrunk further.
        smallest = page.evaluate("""Math.min(...[...document.querySelectorAll('figure svg[role=img]')]
            .map((svg) => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width * 12))""")
        self.assertGreater(smallest, 8.5)

    def test_hovering_shows_the_work_item_and_its_peers(self):
        page = self.browser.open(self.explain("showcase.html", *SHOWCASE))
        self.assertTrue(page.evaluate("document.getElementById('tip').hidden"))
        page.hover("rect[data-tip^='Worker 40, work item 1']")
        self.assertFalse(page.evaluate("document.getElementById('tip').hidden"))
        tip = page.evaluate("document.getElementById('tip').textContent")
        self.assertIn("Worker 40, work item 1", tip)
        self.assertIn("Iterations", tip)
        self.assertIn("Piece 2 of 2", tip)
        # The other piece of the tile, and what is handed over between them.
        self.assertEqual(page.evaluate("document.querySelectorAll('rect.lit').length"), 2)
        self.assertGreater(page.evaluate("document.querySelectorAll('.lit').length"), 2)
        page.hover("h1")
        self.assertTrue(page.evaluate("document.getElementById('tip').hidden"))
        self.assertEqual(page.evaluate("document.querySelectorAll('.lit').length"), 0)

    def test_every_item_of_the_showcase_is_there_and_tells_itself(self):
        page = self.browser.open(self.explain("showcase.html", *SHOWCASE))
        tips = page.evaluate("[...document.querySelector('svg .t0').closest('svg')"
                             ".querySelectorAll('rect[data-tip]')].map((r) => r.dataset.tip)")
        self.assertEqual(len({tip.split(",")[0] for tip in tips}), 82)
        tiles = {tip.split("\n")[1] for tip in tips}
        self.assertEqual(len(tiles), 168)

    def test_large_problems_stay_small_pages(self):
        path = self.explain("large.html", "131072x131072x131072", "--type", "bf16", "--machine", "h200")
        self.assertLess(path.stat().st_size, 4 << 20)
        self.check_page(path)

    def test_groups_and_nothing_at_all(self):
        self.check_page(self.explain("group.html", "--group", "192x320x128,256x448x192"))
        self.check_page(self.explain("nothing.html", "0x5x5"))

    def test_trace_page_and_file(self):
        page_path, trace = self.path("trace.html"), self.path("trace.json")
        self.run_tessera("trace", "256x384x512", "--workers", "6", "--schedule", "stream_k", "--tile",
                         "64x64x64", "--out", trace, "--html", page_path, "--repeat", "1")
        page = self.check_page(page_path)
        page.hover("rect[data-tip*='From ']")
        self.assertIn("Fetching and packing", page.evaluate("document.getElementById('tip').textContent"))

    def test_sweep_report(self):
        shapes, results, html = self.path("s.csv"), self.path("r.jsonl"), self.path("r.html")
        shapes.write_text("m,n,k,why\n" + "".join(f"{16 * i},{64},{32 * i},x\n" for i in range(1, 13)))
        self.run_tessera("sweep", "--corpus", shapes, "--out", results, "--seconds", "0.001")
        self.run_tessera("report", results, "--html", html)
        page = self.check_page(html)
        page.hover("circle[data-tip]")
        self.assertFalse(page.evaluate("document.getElementById('tip').hidden"))

    def test_limits_page(self):
        path = self.path("limits.html")
        self.run_tessera("limits", "scratchpad", "--shape", "64x64x256", "--tile", "64x64x16",
                         "--html", path, "--repeat", "1")
        self.check_page(path)


if __name__ == "__main__":
    if find_chromium() is None:
        print("skipped: there is no Chromium; 'apt-get install chromium' brings one")
        sys.exit(SKIPPED)
    PagesTest.tessera = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main(verbosity=2)
