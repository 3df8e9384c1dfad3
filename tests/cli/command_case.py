"""What the tests of the command have in common: matrices as files, and ways to run a command line."""
import array
import os
import pathlib
import pty
import random
import struct
import subprocess
import sys
import tempfile
import unittest


def write_npy(path, rows, code="f", descr="<f4", fortran=False, shape=None):
    """A matrix as numpy.save stores it; `rows` is a list of lists."""
    shape = shape or (len(rows), len(rows[0]))
    order = zip(*rows) if fortran else rows
    data = array.array(code, [value for line in order for value in line]).tobytes()
    header = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape!r}, }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    pathlib.Path(path).write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) +
                                   header.encode() + data)


def read_npy(path, code="f"):
    """Rows of a two-dimensional C-order file."""
    content = pathlib.Path(path).read_bytes()
    assert content.startswith(b"\x93NUMPY\x01\x00"), content[:10]
    size = struct.unpack("<H", content[8:10])[0]
    header = eval(content[10:10 + size].decode(), {})  # our own file
    assert not header["fortran_order"], header
    values = array.array(code)
    values.frombytes(content[10 + size:])
    *batch, rows, cols = header["shape"]
    assert len(values) == rows * cols * (batch[0] if batch else 1)
    lines = [list(values[i * cols:(i + 1) * cols]) for i in range(len(values) // cols)]
    return [lines[i:i + rows] for i in range(0, len(lines), rows)] if batch else lines


def write_batch(path, matrices):
    rows = [row for matrix in matrices for row in matrix]
    write_npy(path, rows, shape=(len(matrices), len(matrices[0]), len(matrices[0][0])))


def matmul(a, b):
    columns = list(zip(*b))
    return [[sum(x * y for x, y in zip(row, column)) for column in columns] for row in a]


def whole_numbers(rows, cols, seed):
    generator = random.Random(seed)
    return [[float(generator.randint(-4, 4)) for _ in range(cols)] for _ in range(rows)]


class CommandCase(unittest.TestCase):
    """Runs the command in a folder of the test's own."""

    command = ""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def tessera(self, line, code=0, env=None):
        """Runs a command line in the test's folder and checks how it ends."""
        result = subprocess.run([self.command] + line.split(), cwd=self.folder, capture_output=True,
                                text=True, timeout=300, env={**os.environ, **(env or {})})
        self.assertEqual(result.returncode, code, f"{line}\n{result.stdout}{result.stderr}")
        return result

    def files(self):
        return sorted(path.name for path in self.folder.iterdir())

    def fails(self, line, code, *words):
        """The line ends with `code`, one line of explanation that has all words, and no new file."""
        before = self.files()
        result = self.tessera(line, code)
        self.assertTrue(result.stderr.startswith("tessera: "), result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)
        self.assertEqual(self.files(), before)

    def on_a_terminal(self, line):
        """What a command line writes to stderr where that is a terminal."""
        try:
            ours, theirs = pty.openpty()
        except OSError as error:  # a root without /dev/pts
            self.skipTest(f"no terminal to be had: {error}")
        process = subprocess.Popen([self.command] + line.split(), cwd=self.folder, stderr=theirs,
                                   stdout=subprocess.DEVNULL, env={**os.environ, "TERM": "xterm"})
        os.close(theirs)
        shown = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            shown += piece
        os.close(ours)
        self.assertEqual(process.wait(timeout=300), 0, shown)
        return shown.decode()


def main():
    CommandCase.command = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
