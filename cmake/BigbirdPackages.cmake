# Packages: what CPack needs for a .deb (packaging/deb.sh runs it), and the program of the relocatable archive
# (packaging/tarball.sh). Who distributes a package sets BIGBIRD_PACKAGE_MAINTAINER: the default is no one's
# address.
set(BIGBIRD_PACKAGE_MAINTAINER "The bigbird authors <bigbird-authors@example.org>" CACHE STRING
  "Name and address in the packages' metadata")
set(BIGBIRD_PACKAGE_RELEASE "1" CACHE STRING "Debian's revision of the package")

# The same objects linked once more, to find the libraries that lie beside the program. RPATH, not RUNPATH:
# what these libraries need is looked for there too, so that none of them has to be changed.
add_executable(bigbird_portable EXCLUDE_FROM_ALL $<TARGET_OBJECTS:bigbird>)
target_link_libraries(bigbird_portable PRIVATE bigbird_lib bigbird_devices CLI11::CLI11 spdlog::spdlog
  nlohmann_json::nlohmann_json)
function(bigbird_finds_libraries_beside_it target)
  target_link_options(${target} PRIVATE "-Wl,--disable-new-dtags")
  set_property(TARGET ${target} APPEND PROPERTY BUILD_RPATH "$ORIGIN/../lib/bigbird")
endfunction()
bigbird_finds_libraries_beside_it(bigbird_portable)
set_target_properties(bigbird_portable PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME bigbird
  RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/portable" BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/../lib/bigbird")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME bigbird)
set(CPACK_PACKAGE_VENDOR "The bigbird authors")
set(CPACK_PACKAGE_CONTACT "${BIGBIRD_PACKAGE_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "sparse-attention transformers for genomes and text")
set(CPACK_PACKAGE_DESCRIPTION
"BigBird encoders (block-sparse attention: window, global and random blocks)
on whole genomes and long texts, from the command line and without Python:
 * genomes to documents, byte-pair vocabularies and token shards; masked
   language modelling and next-sentence prediction, on one process or many;
 * promoters: data sets without leaks, fine-tuning, calibrated scores, scans
   along a genome as bedGraph or bigWig, called promoters;
 * chromatin profiles of many tracks; effects of the variants of a VCF or BCF
   with E-values; in-silico mutagenesis and attribution, base by base;
 * classification, question answering and summaries of long texts, with the
   official metrics of SQuAD, HotpotQA, Natural Questions, TriviaQA and GLUE.
.
Model folders are those of Hugging Face transformers, read and written.
Results do not depend on the number of threads or of ranks.")
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE "${BIGBIRD_PACKAGE_RELEASE}")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${BIGBIRD_PACKAGE_MAINTAINER}")
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
# Folders of a package are root's, and 0755 whatever the umask of who builds it.
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
# Debian's places and forms for what `cmake --install` writes, and the dependencies: dpkg-shlibdeps as CPack
# would run it makes an MPI a dependency, since the plug-ins are linked with theirs.
set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_SOURCE_DIR}/packaging/debian/layout.cmake")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS OFF)
include(CPack)
