// Drives a fuzz target where libFuzzer is not at hand: the corpus as it is, then mutations of it in
// an order that a fixed seed decides, for the given number of seconds. It has no feedback from the
// code, so it finds less; it is there so that the parsers are shaken on every machine.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "tests/fuzz/fuzz.hpp"

namespace {

class Mutator {
 public:
  explicit Mutator(std::vector<std::string> corpus) : corpus_(std::move(corpus)) {}

  std::string next() {
    std::string text = pick();
    for (std::size_t edits = 1 + below(4); edits > 0; --edits) edit(text);
    return text;
  }

 private:
  std::size_t below(std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_);
  }
  const std::string& pick() { return corpus_[below(corpus_.size())]; }

  void edit(std::string& text) {
    const std::size_t at = below(text.size() + 1);
    const std::size_t length = std::min(text.size() - at, below(16));
    switch (below(5)) {
      case 0:  // flip a bit
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        break;
      case 1:  // cut a piece out
        text.erase(at, length);
        break;
      case 2:  // say a piece twice
        text.insert(at, text.substr(at, length));
        break;
      case 3: {  // put in a word that parsers stumble over
        static constexpr const char* kWords[] = {"-1",  "0",    "1e999", "9223372036854775807",
                                                 "\"",  "{",    "}",     "[",
                                                 "]",   "null", ",",     ":",
                                                 "NaN", "\\u0", "\xff",  "18446744073709551616"};
        text.insert(at, kWords[below(std::size(kWords))]);
        break;
      }
      default: {  // continue as another file
        const std::string& other = pick();
        text = text.substr(0, at) + other.substr(below(other.size() + 1));
        break;
      }
    }
  }

  std::vector<std::string> corpus_;
  std::mt19937_64 random_{20261120};
};

void give(const std::string& text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s SECONDS CORPUS_FOLDER\n", argv[0]);
    return 2;
  }
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(argv[2]))
    files.push_back(entry.path());
  std::ranges::sort(files);
  std::vector<std::string> corpus;
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    give(corpus.back());
  }
  if (corpus.empty()) {
    std::fprintf(stderr, "no files in %s\n", argv[2]);
    return 1;
  }
  Mutator mutator(std::move(corpus));
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(std::atof(argv[1]));
  long runs = 0;
  for (; std::chrono::steady_clock::now() < end; ++runs) give(mutator.next());
  std::printf("%ld mutated inputs\n", runs);
  return 0;
}
