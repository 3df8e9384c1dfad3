#!/usr/bin/env bash
# Installs a build and uses it from outside. Arguments: cmake, build folder, compiler, work folder.
set -euo pipefail
cmake=$1 build=$2 compiler=$3 work=$4
project=$(cd "$(dirname "$0")" && pwd)/project
prefix=$work/prefix

rm -rf "$prefix" "$work/shared" "$work/static"
"$cmake" --install "$build" --prefix "$prefix" >"$work/install.log"

for kind in shared static; do
  use_static=OFF
  [ "$kind" = static ] && use_static=ON
  "$cmake" -S "$project" -B "$work/$kind" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Debug -DTESSERA_USE_STATIC=$use_static \
    >"$work/$kind.log"
  "$cmake" --build "$work/$kind" >>"$work/$kind.log" || { cat "$work/$kind.log"; exit 1; }
  echo "find_package, $kind:"
  "$work/$kind/consumer"
  if [ -x "$work/$kind/consumer_cuda" ]; then "$work/$kind/consumer_cuda"; fi
done
if ! readelf -d "$work/shared/consumer" | grep -q 'NEEDED.*libtessera\.so\.[0-9]'; then
  echo "the shared library has no SONAME with its major version"
  exit 1
fi

if command -v pkg-config >/dev/null; then
  export PKG_CONFIG_PATH
  PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name tessera.pc)")
  # The words that pkg-config prints are separate arguments.
  # shellcheck disable=SC2046
  "$compiler" -std=c++20 "$project/main.cpp" $(pkg-config --cflags --libs tessera) \
    -Wl,-rpath,"$(pkg-config --variable=libdir tessera)" -o "$work/pkg_config_consumer"
  echo "pkg-config:"
  "$work/pkg_config_consumer"
fi

if [ -x "$prefix/bin/tessera" ]; then
  "$prefix/bin/tessera" --version
fi
