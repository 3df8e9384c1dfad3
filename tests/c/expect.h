/* An expectation: if it is broken, says so with the library's message, and counts it. */
#ifndef TESSERA_TESTS_C_EXPECT_H
#define TESSERA_TESTS_C_EXPECT_H

#include <stdio.h>

#include "tessera/tessera.h"

static int failures = 0;

#define EXPECT(condition)                                                              \
  do {                                                                                 \
    if (!(condition)) {                                                                \
      fprintf(stderr, "%s:%d: %s\n  last error: %s\n", __FILE__, __LINE__, #condition, \
              tessera_last_error());                                                   \
      ++failures;                                                                      \
    }                                                                                  \
  } while (0)

#endif
