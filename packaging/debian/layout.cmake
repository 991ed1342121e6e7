# Makes a .deb of what `cmake --install` has put under the package's root: pages and changelogs compressed,
# completions at Debian's paths, the copyright file, stripped plug-ins, and the dependencies as dpkg-shlibdeps
# finds them. CPack runs it before it packs, and takes the variables that it sets.
set(root "${CPACK_TEMPORARY_INSTALL_DIRECTORY}")
set(doc "${root}/usr/share/doc/bigbird")

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# LICENSE is in the copyright file, by the name of Debian's own copy.
file(REMOVE "${doc}/LICENSE")
file(RENAME "${doc}/CHANGELOG.md" "${doc}/changelog")
configure_file("${CMAKE_CURRENT_LIST_DIR}/copyright" "${doc}/copyright" COPYONLY)
configure_file("${CMAKE_CURRENT_LIST_DIR}/lintian-overrides" "${root}/usr/share/lintian/overrides/bigbird" COPYONLY)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # of SOURCE_DATE_EPOCH, where it is set
file(WRITE "${doc}/changelog.Debian" "bigbird (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * Built from the sources of ${CPACK_PACKAGE_VERSION}; what is new stands in changelog.gz.

 -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${date}
")
file(GLOB pages "${root}/usr/share/man/man1/*.1")
run(gzip -9nf ${pages} "${doc}/changelog" "${doc}/changelog.Debian")

file(MAKE_DIRECTORY "${root}/usr/share/zsh/vendor-completions")
file(RENAME "${root}/usr/share/zsh/site-functions/_bigbird" "${root}/usr/share/zsh/vendor-completions/_bigbird")
file(REMOVE_RECURSE "${root}/usr/share/zsh/site-functions")

# Objects without their symbols; plug-ins are installed as files, which CPack does not strip.
file(GLOB plugins "${root}/usr/lib/bigbird/*.so")
run(strip --remove-section=.comment --remove-section=.note "${root}/usr/bin/bigbird")
if(plugins)
  run(strip --strip-unneeded --remove-section=.comment --remove-section=.note ${plugins})
endif()
file(GLOB_RECURSE everything LIST_DIRECTORIES true "${root}/usr/*")
foreach(path IN LISTS everything)
  if(IS_DIRECTORY "${path}" OR path STREQUAL "${root}/usr/bin/bigbird")
    run(chmod 0755 "${path}")
  else()
    run(chmod 0644 "${path}")
  endif()
endforeach()

# dpkg-shlibdeps reads debian/control of the folder that it runs in. What the plug-ins need is suggested: the
# program opens one of them when a launcher of its MPI has started it, and runs without.
set(folder "${CPACK_TOPLEVEL_DIRECTORY}/shlibdeps")
file(WRITE "${folder}/debian/control" "Source: bigbird\n\nPackage: bigbird\nArchitecture: any\n")
set(wanted "-e${root}/usr/bin/bigbird")
if(plugins)
  list(JOIN plugins ";-e" shown)
  list(APPEND wanted -dSuggests "-e${shown}")
endif()
execute_process(COMMAND dpkg-shlibdeps -O --warnings=0 ${wanted} WORKING_DIRECTORY "${folder}" OUTPUT_VARIABLE found
  COMMAND_ERROR_IS_FATAL ANY)
foreach(field Depends Suggests)
  string(TOUPPER "${field}" name)
  if(found MATCHES "shlibs:${field}=([^\n]*)")
    set(CPACK_DEBIAN_PACKAGE_${name} "${CMAKE_MATCH_1}")
  endif()
endforeach()
if(NOT CPACK_DEBIAN_PACKAGE_DEPENDS)
  message(FATAL_ERROR "dpkg-shlibdeps found no dependencies: ${found}")
endif()
