import { namesOf, type Point } from "./points.ts";

export function bashCompletion(points: readonly Point[]): string {
  return `# For this shell:  eval "$(inboxd completion bash)"
# For every shell: inboxd completion bash > ~/.local/share/bash-completion/completions/inboxd
_inboxd() {
  local at='' word='' commands options valued filed words takes_file i
  COMPREPLY=()
  for ((i = 1; i <= COMP_CWORD; i++)); do
    commands='' options='' valued='' filed='' words='' takes_file=''
    case "$at" in
${points.map(clause).join("\n")}
    esac
    word=\${COMP_WORDS[i]}
    ((i == COMP_CWORD)) && break
    if [[ " $valued " == *" $word "* ]]; then
      if ((i + 1 == COMP_CWORD)); then
        [[ " $filed " == *" $word "* ]] && _inboxd_files "\${COMP_WORDS[COMP_CWORD]}"
        return
      fi
      ((i += 1))
    elif [[ " $commands " == *" $word "* ]]; then
      at+=" $word"
    fi
  done
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  elif [[ -n $takes_file ]]; then
    _inboxd_files "$word"
  else
    COMPREPLY=($(compgen -W "$commands $words" -- "$word"))
  fi
}
_inboxd_files() {
  local IFS=$'\\n'
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen -f -- "$1"))
}
complete -F _inboxd inboxd
`;
}

function clause({ at, commands, options, words, takesFile }: Point): string {
  const facts = {
    commands: commands.map(({ name }) => name).join(" "),
    options: namesOf(options).join(" "),
    valued: namesOf(options, "text", "file").join(" "),
    filed: namesOf(options, "file").join(" "),
    words: words.join(" "),
    takes_file: takesFile ? "yes" : "",
  };
  const said = Object.entries(facts).filter(([, value]) => value !== "");
  return `      '${at}') ${said.map(([name, value]) => `${name}='${value}'`).join(" ")} ;;`;
}
