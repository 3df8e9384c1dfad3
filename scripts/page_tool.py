"""What the scripts have in common that write a part of a page of the documentation: without arguments
they print it, `--write FILE` puts it into the page, `--check FILE` fails if the page has another."""

import argparse
import pathlib


def run(script, description, what, printed, filled):
    """The exit status. `printed()` is the text alone; `filled(text, page)` the page's text with it."""
    parser = argparse.ArgumentParser(description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", metavar="FILE", type=pathlib.Path)
    parser.add_argument("--check", metavar="FILE", type=pathlib.Path)
    arguments = parser.parse_args()
    page = arguments.write or arguments.check
    if page is None:
        print(printed())
        return 0
    text = page.read_text(encoding="utf-8")
    new = filled(text, page)
    if arguments.write:
        page.write_text(new, encoding="utf-8")
    elif new != text:
        print(f"{page}: the {what} is out of date; run scripts/{pathlib.Path(script).name} --write {page}")
        return 1
    else:
        print(f"{what}: up to date")
    return 0
