// What the fuzz targets share. A target's body takes the input's bytes; tessera::Error is a proper
// answer to bad input, anything else that leaves the body is a finding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tessera/error.hpp"

namespace tessera::fuzz {

// Ends the program, so that the fuzzer keeps the input.
inline void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace tessera::fuzz

// libFuzzer's entry point; mutate_main.cpp calls it, too.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

#define TESSERA_FUZZ(bytes)                                                           \
  static void fuzz_one(std::string_view bytes);                                       \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { \
    try {                                                                             \
      fuzz_one(std::string_view(reinterpret_cast<const char*>(data), size));          \
    } catch (const tessera::Error&) {                                                 \
    }                                                                                 \
    return 0;                                                                         \
  }                                                                                   \
  static void fuzz_one(std::string_view bytes)
