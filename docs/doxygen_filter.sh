#!/bin/sh
# Our comments are plain; this marks those of a header as Doxygen wants to see them: a comment on lines of its own
# belongs to what follows, one behind a declaration to that. An ampersand begins no HTML entity.
case $1 in
  *.hpp) exec sed -E '/^ *\/\//s,&,\\\&,g; s,^( *)//( |$),\1///\2,; s,([^ ]+ +)// ,\1///< ,' "$1" ;;
  *) exec sed -E 's,^( *)/\*( |$),\1/**\2,; s,([;\,] +)/\* ,\1/**< ,' "$1" ;;
esac
