# Completes flags and files of the tools in bash: `source tools/completions/hlo.bash`.
# Flags and passes come from the installed tool itself.

_hlo_tools() {
  local tool=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  COMPREPLY=()
  # Bash makes three words of --flag=value.
  if [[ $word == "=" ]]; then
    word=""
  elif [[ $previous == "=" ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  case $previous in
    --passes)
      mapfile -t COMPREPLY < <(compgen -W "$("$tool" --list-passes 2> /dev/null | grep -o '^[a-z][a-z0-9-]*')" -- "$word")
      return ;;
    --pipeline | --list-pipeline | --as)
      mapfile -t COMPREPLY < <(compgen -W "cleanup cpu gpu inline prepare schedule spmd xla-gpu" -- "$word")
      return ;;
    --device)
      mapfile -t COMPREPLY < <(compgen -W "v100 a100 a6000 h100 h200 h200_measured b200 mi210 mi300 mi350 rx7900" -- "$word")
      return ;;
    --schedule)
      mapfile -t COMPREPLY < <(compgen -W "list dfs postorder bfs default best as-is" -- "$word")
      return ;;
  esac
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "--help --version $("$tool" --help 2> /dev/null | grep -oE '^  --?[a-z][a-z0-9-]*')" -- "$word")
    return
  fi
  mapfile -t COMPREPLY < <(compgen -f -- "$word")
}

complete -o filenames -o nospace -F _hlo_tools hlo-opt hlo-explain hlo-diff hlo-run hlo-reduce hlo-pack kir-opt
