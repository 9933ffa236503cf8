#!/bin/sh
# Wraps NVIDIA's assembler: limits its time, so that one module does not hold up thousands of
# others, and assembles the same bytecode once, whichever build of the compiler wrote it.
#
#   TESSERA_TILEIRAS=assemble.sh  with REAL_TILEIRAS, KEPT_CUBINS (a folder), ASSEMBLY_SECONDS (of processor time)
ulimit -t "$ASSEMBLY_SECONDS"
in='' out='' flags='' previous=''
for word; do
  case $previous,$word in
    -o,*) out=$word ;;
    *,-o) ;;
    *.tileirbc) in=$word ;;
    *) flags="$flags $word" ;;
  esac
  previous=$word
done
[ -n "$in" ] && [ -n "$out" ] || exec "$REAL_TILEIRAS" "$@"
key=$({ stat -L -c '%s %Y' "$REAL_TILEIRAS"; echo "$flags"; cat "$in"; } | sha256sum | cut -c1-40)
kept=$KEPT_CUBINS/$key
[ -f "$kept" ] && exec cp "$kept" "$out"
"$REAL_TILEIRAS" "$@" || exit $?
cp "$out" "$kept.$$" && mv "$kept.$$" "$kept"
