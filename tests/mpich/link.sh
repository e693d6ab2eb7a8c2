#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Stands in for libtool where a program is linked, which takes libtool three times as long as the linker.
# usage: link.sh --FLAG... COMPILER WORD... where each libNAME.la is a static library that libtool has built.
for word; do
    shift
    case $word in
    --*) ;;
    *.la) name=${word##*/} && set -- "$@" "${word%/*}/.libs/${name%.la}.a" ;;
    *) set -- "$@" "$word" ;;
    esac
done
exec "$@"
