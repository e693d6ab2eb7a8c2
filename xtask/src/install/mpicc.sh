#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Compiles and links MPI programs with Rankpoint: the compiler with the flags that find its header and its library.
#
#   -show, -showme           print the command instead of running it
#   -compile-info, -link-info   print the part of it that compiles or links
#   -showme:compile, :link, :incdirs, :libdirs, :libs, :command, :version   print one thing without the compiler's name
#   -cc=NAME, -cxx=NAME      use another compiler; so does the variable RANKPOINT_LAUNCH_@VARIABLE@
here=$(CDPATH='' cd -- "$(dirname -- "$(readlink -f -- "$0")")" && pwd)
prefix=$(dirname -- "$here")
compiler=${RANKPOINT_LAUNCH_@VARIABLE@:-@COMPILER@}
compile="-I$prefix/include"
link="-L$prefix/lib -Wl,-rpath,$prefix/lib -Wl,--enable-new-dtags -lmpi_abi"
show=
linking=yes
count=$#
while [ "$count" -gt 0 ]; do
    argument=$1
    shift
    count=$((count - 1))
    case $argument in
        -show | -showme | --showme) show=all; continue ;;
        -compile-info | -compile_info) show=compile-info; continue ;;
        -link-info | -link_info) show=link-info; continue ;;
        -showme:* | --showme:*) show=${argument#*:}; continue ;;
        -cc=* | -cxx=*) compiler=${argument#*=}; continue ;;
        -c | -E | -S | -M | -MM | -fsyntax-only) linking=no ;;
    esac
    set -- "$@" "$argument"
done
case $show in
    '') ;;
    all) echo "$compiler" "$compile" "$@" "$link"; exit 0 ;;
    compile-info) echo "$compiler $compile"; exit 0 ;;
    link-info) echo "$compiler $link"; exit 0 ;;
    compile) echo "$compile"; exit 0 ;;
    link) echo "$link"; exit 0 ;;
    incdirs) echo "$prefix/include"; exit 0 ;;
    libdirs) echo "$prefix/lib"; exit 0 ;;
    libs) echo "mpi_abi"; exit 0 ;;
    command) echo "$compiler"; exit 0 ;;
    version) echo "$(basename -- "$0"): Rankpoint @VERSION@"; exit 0 ;;
    *) echo "$(basename -- "$0"): nothing is called -showme:$show" >&2; exit 1 ;;
esac
if [ $# -eq 0 ]; then
    echo "$(basename -- "$0"): no input files" >&2
    exit 1
fi
case "$# $1" in
    '1 -v' | '1 --version' | '1 -V' | '1 -dumpversion' | '1 -dumpmachine') linking=no ;;
esac
# The compiler's name may hold flags.
# shellcheck disable=SC2086
if [ $linking = no ]; then
    exec $compiler -I"$prefix/include" "$@"
fi
# shellcheck disable=SC2086
exec $compiler -I"$prefix/include" "$@" -L"$prefix/lib" -Wl,-rpath,"$prefix/lib" -Wl,--enable-new-dtags -lmpi_abi
