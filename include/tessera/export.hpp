// TESSERA_API marks what the shared library shows; everything else is hidden. On Error it also
// makes the type one and the same on both sides of the library's border, so that it can be caught
// there.
#pragma once

#define TESSERA_API __attribute__((visibility("default")))
