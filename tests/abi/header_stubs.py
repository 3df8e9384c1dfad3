#!/usr/bin/env python3
"""Prints a C file that defines every function that a header declares with TESSERA_API."""

import re
import sys

with open(sys.argv[1], encoding="utf-8") as header:
    text = re.sub(r"/\*.*?\*/", "", header.read(), flags=re.S)
declarations = re.findall(r"^TESSERA_API ([^;{}]*?\([^;]*?\));", text, flags=re.S | re.M)
if not declarations:
    sys.exit("no declarations found")
print('#include "tessera/tessera.h"')
for declaration in declarations:
    print(declaration + " { __builtin_trap(); }")
