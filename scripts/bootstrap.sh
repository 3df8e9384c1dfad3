#!/usr/bin/env bash
# Installs what building and running Tessera needs, with the distribution's own packages (Debian 12,
# Ubuntu 24.04). Says what it installs; does nothing where nothing is missing.
set -euo pipefail

build_packages="g++ cmake ninja-build ccache nlohmann-json3-dev libcli11-dev libfmt-dev
  libgtest-dev librapidcheck-dev python3"
check_packages="clang-format clang-tidy clang libclang-rt-dev libomp-dev pkg-config abigail-tools
  libblas-test liblapack-test python3-numpy python3-venv python3-dev"
peer_packages="libopenblas0-pthread libblis4-openmp libdnnl-dev"

usage() {
  cat <<HELP
usage: scripts/bootstrap.sh [--tests] [--peers] [--dry-run]
  --tests    also what scripts/check.sh and the fuzz targets need (clang and its tools), and the
             test suites of netlib's BLAS, LAPACK and NumPy
  --peers    also the libraries that \`tessera bench\` can compare with: OpenBLAS, BLIS, oneDNN
  --dry-run  only say what is missing
HELP
}

wanted=$build_packages
dry_run=no
for argument in "$@"; do
  case $argument in
    --tests) wanted="$wanted $check_packages" ;;
    --peers) wanted="$wanted $peer_packages" ;;
    --dry-run) dry_run=yes ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done

if ! command -v apt-get >/dev/null; then
  echo "bootstrap: there is no apt-get; install by this system's own means what these hold:" >&2
  echo "  $(echo $wanted)" >&2
  exit 1
fi

missing=""
for package in $wanted; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing="$missing $package"
done
missing=${missing# }
if [ -z "$missing" ]; then
  echo "bootstrap: nothing is missing"
  exit 0
fi
echo "bootstrap: missing: $missing"
[ "$dry_run" = yes ] && exit 0

as_root=""
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "bootstrap: this needs root or sudo; run as root: apt-get install $missing" >&2
    exit 1
  fi
  as_root=sudo
fi
echo "bootstrap: installing them with apt-get"
$as_root apt-get -qq update
# shellcheck disable=SC2086  # a list of words
$as_root env DEBIAN_FRONTEND=noninteractive \
  apt-get -qq install -y --no-install-recommends $missing >/dev/null
echo "bootstrap: done"
