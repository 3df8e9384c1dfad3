/* The installed library from C. */
#include <tessera/tessera.h>

#include <stdio.h>

int main(void) {
  const float a[] = {1, 2, 3, 4}, b[] = {1, 0, 0, 1};
  float c[4] = {0};
  const tessera_const_matrix view_a = {a, 2, 2, 2, 1, TESSERA_F32};
  const tessera_const_matrix view_b = {b, 2, 2, 2, 1, TESSERA_F32};
  const tessera_matrix view_c = {c, 2, 2, 2, 1, TESSERA_F32};
  if (tessera_gemm(1, view_a, view_b, 0, view_c, NULL) != TESSERA_OK) {
    fprintf(stderr, "%s\n", tessera_last_error());
    return 1;
  }
  printf("%g %g %g %g\n", c[0], c[1], c[2], c[3]);
  return c[0] == 1 && c[3] == 4 ? 0 : 1;
}
