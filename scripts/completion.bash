# Completion of pipetrain's command line in bash: verbs, options and schedules as listed by the binary itself.
_pipetrain() {
  local word=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]} words=
  COMPREPLY=()
  if [ "$COMP_CWORD" = 1 ]; then
    words="$("$1" --help 2>/dev/null | sed -n 's/^  pipetrain \([a-z]*\) .*/\1/p') --help --version --build-info"
  elif [[ $word == -* ]]; then
    words=$("$1" "$verb" --help 2>/dev/null | grep -oE -- '--[a-z][a-z-]*' | sort -u)
  elif [ "$verb" = schedule ]; then
    words=$("$1" methods 2>/dev/null | sed -n '2,$s/^\([a-z0-9_]*\) .*/\1/p')
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  [ ${#COMPREPLY[@]} -gt 0 ] || mapfile -t COMPREPLY < <(compgen -f -- "$word")
}
complete -o filenames -F _pipetrain pipetrain
