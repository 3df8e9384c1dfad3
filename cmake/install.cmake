# `cmake --install`: headers, both libraries, the command, a CMake package and a pkg-config file.
include(GNUInstallDirs)
install(DIRECTORY include/tessera DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS tessera_static tessera_shared EXPORT tesseraTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
