#include "bench/shared_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>

#include "tessera/error.hpp"

namespace tessera::bench {

SharedLibrary::SharedLibrary(const std::string& library, const std::string& path,
                             const std::vector<std::string>& usual_names)
    : library_(library), label_(library) {
  const std::vector<std::string> names = path.empty() ? usual_names : std::vector{path};
  if (!path.empty()) label_ += "=" + std::filesystem::path(path).filename().string();
  std::string tried;
  for (const std::string& name : names) {
    handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) return;
    const char* const message = dlerror();
    tried += (tried.empty() ? "" : "; ") + std::string(message != nullptr ? message : name);
  }
  throw Error(
      ErrorCode::unsupported, "peer '" + library + "'", "be installed", tried,
      "install its shared library or give its path, as in --peer " + library + "=/path/lib.so");
}

std::string SharedLibrary::path() const {
  const link_map* map = nullptr;
  if (dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return library_;
  return map->l_name;
}

void* SharedLibrary::address(const std::string& name) const {
  return dlsym(handle_, name.c_str());
}

void* SharedLibrary::required_address(const std::string& name) const {
  void* const found = address(name);
  if (found == nullptr) {
    throw Error(ErrorCode::unsupported, "peer '" + library_ + "'", "have the function " + name,
                path(), "use another build of it");
  }
  return found;
}

}  // namespace tessera::bench
