// A shared library opened at run time, and its functions by name. It stays open until the process
// ends, because its thread pool outlives every handle.
#pragma once

#include <string>
#include <vector>

namespace tessera::bench {

class SharedLibrary {
 public:
  // Opens `path`, or where that is empty the first of the usual names that loads. Throws
  // Error(unsupported) with the loader's message.
  SharedLibrary(const std::string& library, const std::string& path,
                const std::vector<std::string>& usual_names);
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;

  // nullptr where there is no such function.
  template <class Function>
  Function* find(const std::string& name) const {
    return reinterpret_cast<Function*>(address(name));
  }
  // The same; throws Error(unsupported) that names the missing function.
  template <class Function>
  Function* require(const std::string& name) const {
    return reinterpret_cast<Function*>(required_address(name));
  }

  // Of the file that was loaded.
  std::string path() const;
  // "openblas", or with a path of its own "openblas=libopenblas.so".
  const std::string& label() const { return label_; }

 private:
  void* address(const std::string& name) const;
  void* required_address(const std::string& name) const;

  std::string library_;
  std::string label_;
  void* handle_ = nullptr;
};

}  // namespace tessera::bench
