#!/usr/bin/env bash
# The shared library shows the public interface and nothing else. Arguments: nm, library.
set -euo pipefail
shown=$("$1" --dynamic --defined-only --demangle "$2" | cut -d' ' -f3-)
# Public names are directly in namespace tessera; a backend's or a dependency's name is a leak.
leaks=$(grep -vE '^((typeinfo|typeinfo name|vtable) for )?tessera::((Error|Device|Workspace)::)?~?[A-Za-z_]+(\[[a-z0-9:]+\])?(\(.*)?( const)?$' <<<"$shown" |
  grep -vE '^(tessera::Machine::peak\(|tessera::Workspace::operator=|tessera_[a-z_]+$)' || true)
if [ -n "$leaks" ]; then
  printf 'symbols that should be hidden:\n%s\n' "$leaks"
  exit 1
fi
for needed in 'tessera::gemm(' 'tessera::run(' 'tessera::make_plan(' 'typeinfo for tessera::Error'; do
  grep -qF "$needed" <<<"$shown" || { echo "not exported: $needed"; exit 1; }
done
echo "$(wc -l <<<"$shown") symbols, all public"
