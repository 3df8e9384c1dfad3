#!/usr/bin/env python3
"""Puts the command's own help texts into docs/cli.md, so that there is one text.

usage: scripts/write_cli_docs.py [--check] path/to/tessera

The page's prose is written by hand; between the marks `<!-- help: VERB -->` and `<!-- end -->` stands
what `tessera VERB --help` prints. --check changes nothing and fails where the two differ in more than
white space (versions of CLI11 break lines differently).
"""
import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "cli.md"
BLOCK = re.compile(r"<!-- help: (?P<verb>[a-z ]*?) *-->\n(?P<text>.*?)<!-- end -->", re.DOTALL)


def help_text(command, verb):
    words = [command] + verb.split() + ["--help"]
    result = subprocess.run(words, capture_output=True, text=True, check=True)
    return result.stdout.strip()


def verbs_of(command):
    listed = help_text(command, "").split("ubcommands:", 1)[1]
    return re.findall(r"^  ([a-z]+) ", listed, re.MULTILINE)


def words_of(text):
    return text.lower().split()


def main():
    arguments = sys.argv[1:]
    check = "--check" in arguments
    arguments = [a for a in arguments if a != "--check"]
    if len(arguments) != 1:
        sys.exit(__doc__)
    command = arguments[0]
    page = PAGE.read_text()
    wrong = []

    def replaced(match):
        text = help_text(command, match["verb"])
        block = f"```text\n{text}\n```\n"
        if words_of(block) != words_of(match["text"]):
            wrong.append(match["verb"] or "the command itself")
        return f"<!-- help: {match['verb']} -->\n{block}<!-- end -->"

    result = BLOCK.sub(replaced, page)
    shown = {match["verb"] for match in BLOCK.finditer(page)}
    missing = [verb for verb in verbs_of(command) if verb not in shown]
    if missing:
        sys.exit(f"docs/cli.md has no section for: {', '.join(missing)}")
    if not check:
        PAGE.write_text(result)
    elif wrong:
        sys.exit(f"docs/cli.md is not what --help says of: {', '.join(wrong)}; "
                 "run scripts/write_cli_docs.py")


main()
