#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Compiles and links Fortran programs with Rankpoint: the compiler with the flags that find its modules, mpif.h and its libraries.
#
#   -show, -showme           print the command instead of running it
#   -compile-info, -link-info   print the part of it that compiles or links
#   -showme:compile, :link, :incdirs, :libdirs, :libs, :command, :version   print one thing without the compiler's name
#   -fc=NAME                 use another compiler; so does the variable RANKPOINT_LAUNCH_FC
#
# RANKPOINT_LAUNCH_PLAIN_MPIF=1 is for programs that define procedures of MPI or declare them EXTERNAL: mpif.h has no interfaces then.
here=$(CDPATH='' cd -- "$(dirname -- "$(readlink -f -- "$0")")" && pwd)
prefix=$(dirname -- "$here")
name=$(basename -- "$0")
compiler=$RANKPOINT_LAUNCH_FC
# Flags that change the size of REAL, for which there are modules of their own.
reals=
size=
sizes() {
    if [ -n "$size" ]; then
        reals="$reals --flag=$1" size=
        return
    fi
    case $1 in
        -i8 | -fdefault-integer-8 | -integer-size | -integer-size=* | -finteger-4-integer-8)
            echo "$name: $1 changes the size of INTEGER, which Rankpoint's Fortran bindings do not support" >&2
            exit 1
            ;;
        -freal-4-real-* | -freal-8-real-*)
            echo "$name: $1 changes the size of REAL*4 or REAL*8, which Rankpoint's Fortran bindings do not support; -fdefault-real-8 is supported" >&2
            exit 1
            ;;
        -fdefault-real-10)
            echo "$name: $1 makes REALs of 10 bytes, for which MPI has no datatype" >&2
            exit 1
            ;;
        -r8 | -fdefault-real-8 | -fdefault-real-16 | -fdefault-double-8 | -real-size=*) reals="$reals --flag=$1" ;;
        -real-size) reals="$reals --flag=$1" size=next ;;
    esac
}
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
        -fc=*) compiler=${argument#*=}; continue ;;
        -c | -E | -S | -M | -MM | -fsyntax-only) linking=no ;;
    esac
    sizes "$argument"
    set -- "$@" "$argument"
done
if [ -z "$compiler" ]; then
    for compiler in gfortran flang flang-new flang-new-19 none; do
        if command -v "$compiler" >/dev/null 2>&1; then
            break
        fi
    done
    if [ "$compiler" = none ]; then
        echo "$name: there is no gfortran and no flang in PATH; RANKPOINT_LAUNCH_FC names another compiler" >&2
        exit 1
    fi
fi
# The name may hold flags.
for argument in $compiler; do
    sizes "$argument"
done
# shellcheck disable=SC2086
modules=$("$here/rankpoint" fortran build --compiler="${compiler%% *}" $reals) || exit 1
include=$prefix/include
if [ "$RANKPOINT_LAUNCH_PLAIN_MPIF" = 1 ]; then
    include=$prefix/include/rankpoint/plain
fi
compile="-I$modules -I$include"
link="-L$modules -L$prefix/lib -Wl,-rpath,$prefix/lib -Wl,--enable-new-dtags -lmpirp_types -lmpifort_abi -lmpi_abi"
case $show in
    '') ;;
    all) echo "$compiler" "$compile" "$@" "$link"; exit 0 ;;
    compile-info) echo "$compiler $compile"; exit 0 ;;
    link-info) echo "$compiler $link"; exit 0 ;;
    compile) echo "$compile"; exit 0 ;;
    link) echo "$link"; exit 0 ;;
    incdirs) echo "$modules $include"; exit 0 ;;
    libdirs) echo "$modules $prefix/lib"; exit 0 ;;
    libs) echo "mpirp_types mpifort_abi mpi_abi"; exit 0 ;;
    command) echo "$compiler"; exit 0 ;;
    version) echo "$name: Rankpoint @VERSION@"; exit 0 ;;
    *) echo "$name: nothing is called -showme:$show" >&2; exit 1 ;;
esac
if [ $# -eq 0 ]; then
    echo "$name: no input files" >&2
    exit 1
fi
case "$# $1" in
    '1 -v' | '1 --version' | '1 -V' | '1 -dumpversion' | '1 -dumpmachine') linking=no ;;
esac
# The compiler's name may hold flags.
# shellcheck disable=SC2086
if [ $linking = no ]; then
    exec $compiler -I"$modules" -I"$include" "$@"
fi
# shellcheck disable=SC2086
exec $compiler -I"$modules" -I"$include" "$@" -L"$modules" -L"$prefix/lib" -Wl,-rpath,"$prefix/lib" \
    -Wl,--enable-new-dtags -lmpirp_types -lmpifort_abi -lmpi_abi
