// What the heads of reports say besides the machine: which source was measured, and when.
#pragma once

#include <string>

namespace tessera::bench {

// "2409548188562f1a", with "-dirty" where the tree had changed since; "unknown" outside a checkout.
std::string commit_of_build();

// "2026-11-22T12:45:29Z".
std::string utc_now();

}  // namespace tessera::bench
