#!/usr/bin/env bash
# Installs a build and uses it from outside. Arguments: cmake, build folder, compiler, work folder,
# whether the build has CUDA (ON or OFF). If it has and there is a GPU, a product must run on it.
set -euo pipefail
cmake=$1 build=$2 compiler=$3 work=$4 cuda=$5
project=$(cd "$(dirname "$0")" && pwd)/project
prefix=$work/prefix

has_gpu=no
if [ "$cuda" = ON ] && nvidia-smi -L 2>/dev/null | grep -q GPU; then has_gpu=yes; fi
mkdir -p "$work"
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
  said=""
  if [ -x "$work/$kind/consumer_cuda" ]; then
    said=$("$work/$kind/consumer_cuda") || { echo "$said"; exit 1; }
    echo "$said"
  fi
  if [ "$has_gpu" = yes ] && [[ $said != "a product on the device"* ]]; then
    echo "there is a GPU, and no product ran on it"
    exit 1
  fi
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
  # The linker prefers the shared library, which lies beside the archive.
  # shellcheck disable=SC2046
  "$compiler" -std=c++20 "$project/main.cpp" \
    $(pkg-config --cflags --libs --static tessera | sed 's/-ltessera/-l:libtessera.a/') \
    -o "$work/pkg_config_static"
  echo "pkg-config --static:"
  "$work/pkg_config_static"
fi

# From C, in a project that has no other language.
"$cmake" -S "$project/../c_project" -B "$work/c" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >"$work/c.log" ||
  { cat "$work/c.log"; exit 1; }
"$cmake" --build "$work/c" >>"$work/c.log" || { cat "$work/c.log"; exit 1; }
echo "find_package from C:"
"$work/c/consumer"

if [ -x "$prefix/bin/tessera" ]; then
  "$prefix/bin/tessera" --version
fi
