"""Drives a headless Chromium over its debugging pipe: no package beyond Python's own is needed.

    with Browser() as browser:
        page = browser.open("report.html", width=1080, height=800, dark=True)
        page.evaluate("document.title")
"""

import base64
import itertools
import json
import os
import pathlib
import select
import shutil
import struct
import subprocess
import tempfile
import time
import zlib

NAMES = ("chromium", "chromium-browser", "google-chrome")


def find_chromium():
    """The path of a Chromium, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    TIMEOUT = 60

    def __init__(self):
        self._profile = tempfile.TemporaryDirectory(prefix="tessera-chromium-")
        to_child, self._write = os.pipe()
        self._read, from_child = os.pipe()

        def place_pipes():
            # Chromium reads commands on 3 and writes answers on 4. Copies first: one of the two
            # descriptors may itself be 3 or 4.
            commands, answers = os.dup(to_child), os.dup(from_child)
            os.dup2(commands, 3)
            os.dup2(answers, 4)

        self._process = subprocess.Popen(
            [find_chromium(), "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
             "--remote-debugging-pipe", f"--user-data-dir={self._profile.name}", "about:blank"],
            close_fds=False, preexec_fn=place_pipes,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_child)
        os.close(from_child)
        self._numbers = itertools.count(1)
        self._buffer = b""
        self._events = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
        except (RuntimeError, OSError):
            self._process.kill()
        self._process.wait(self.TIMEOUT)
        os.close(self._write)
        os.close(self._read)
        for _ in range(50):
            # Chromium's children may still be writing to the profile.
            try:
                self._profile.cleanup()
                break
            except OSError:
                time.sleep(0.1)

    def call(self, method, session=None, **params):
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next_message()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self._events.append(answer)

    def events(self):
        """What has been reported since the last call, oldest first."""
        seen, self._events = self._events, []
        return seen

    def open(self, path, width=1080, height=800, dark=False, mobile=False):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=mobile)
        page.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        page.call("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
        page.wait_until("document.readyState === 'complete' && location.protocol === 'file:'")
        return page

    def _next_message(self):
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], self.TIMEOUT)
            chunk = os.read(self._read, 1 << 20) if ready else b""
            if not chunk:
                raise RuntimeError("Chromium does not answer")
            self._buffer += chunk
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)


class Page:
    def __init__(self, browser, session):
        self._browser = browser
        self._session = session
        self._events = []

    def call(self, method, **params):
        return self._browser.call(method, self._session, **params)

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait_until(self, expression, seconds=20):
        end = time.monotonic() + seconds
        while not self.evaluate(expression):
            if time.monotonic() > end:
                raise RuntimeError(f"never true: {expression}")
            time.sleep(0.05)

    def complaints(self):
        """Errors and warnings of the console, and requests for anything but the page itself."""
        self.evaluate("1")
        found = []
        for event in self._browser.events():
            method, params = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(params["exceptionDetails"]["text"])
            elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
                found.append(json.dumps(params["args"]))
            elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append(params["entry"]["text"])
            elif method == "Network.requestWillBeSent":
                url = params["request"]["url"]
                if not url.startswith(("file:", "data:", "about:")):
                    found.append(f"fetches {url}")
        return found

    def hover(self, selector):
        """Moves the pointer to the middle of the first element that matches."""
        x, y = self.evaluate(f"""(() => {{
            const element = document.querySelector({json.dumps(selector)});
            element.scrollIntoView({{block: "center", inline: "center"}});
            const box = element.getBoundingClientRect();
            return [box.left + box.width / 2, box.top + box.height / 2];
        }})()""")
        # Scrolling hides the tip, and its event comes a frame later.
        time.sleep(0.2)
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def screenshot(self, clip=None):
        """PNG bytes of the whole page, or of (x, y, width, height) of it."""
        if clip is None:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            clip = (0, 0, size["width"], size["height"])
        names = ("x", "y", "width", "height")
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True,
                         clip={**dict(zip(names, clip)), "scale": 1})
        return base64.b64decode(shot["data"])


def distinct_colours(png):
    """How many colours a PNG as Chromium writes it (8 bits per channel, not interlaced) has."""
    at, data, width, channels = 8, b"", 0, 0
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, _, depth, colour = struct.unpack(">IIBB", body[:10])
            assert depth == 8 and colour in (2, 6)
            channels = 3 if colour == 2 else 4
        elif kind == b"IDAT":
            data += body
        at += 12 + length
    rows = zlib.decompress(data)
    stride = width * channels
    before = bytearray(stride)
    colours = set()
    for start in range(0, len(rows), stride + 1):
        kind, row = rows[start], bytearray(rows[start + 1:start + 1 + stride])
        for i in range(stride):
            left = row[i - channels] if i >= channels else 0
            up, corner = before[i], before[i - channels] if i >= channels else 0
            if kind == 1:
                row[i] = (row[i] + left) & 255
            elif kind == 2:
                row[i] = (row[i] + up) & 255
            elif kind == 3:
                row[i] = (row[i] + (left + up) // 2) & 255
            elif kind == 4:
                guess = left + up - corner
                nearest = min((left, up, corner), key=lambda value: abs(guess - value))
                row[i] = (row[i] + nearest) & 255
        colours.update(bytes(row[i:i + 3]) for i in range(0, stride, channels))
        before = row
    return len(colours)
