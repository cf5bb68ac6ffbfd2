import { type Choice, namesOf, type Point } from "./points.ts";

export function zshCompletion(points: readonly Point[]): string {
  return `#compdef inboxd
# For this shell:  eval "$(inboxd completion zsh)"
# For every shell: inboxd completion zsh > a file called _inboxd in a directory of $fpath
_inboxd() {
  local at='' word='' names valued filed takes_file i
  local -a below options choices
  for ((i = 2; i <= CURRENT; i++)); do
    below=() options=() choices=() names='' valued='' filed='' takes_file=''
    case "$at" in
${points.map(clause).join("\n")}
    esac
    word=$words[i]
    ((i == CURRENT)) && break
    if [[ " $valued " == *" $word "* ]]; then
      if ((i + 1 == CURRENT)); then
        [[ " $filed " == *" $word "* ]] && _files
        return
      fi
      ((i += 1))
    elif [[ " $names " == *" $word "* ]]; then
      at+=" $word"
    fi
  done
  if [[ $word == -* ]]; then
    _describe -o option options
  elif [[ -n $takes_file ]]; then
    _files
  elif (($#choices)); then
    _describe argument choices
  elif (($#below)); then
    _describe command below
  fi
}
# Loaded from a file in $fpath, this text runs as the function. Evaluated as a text, it registers the function.
if [[ $funcstack[1] == _inboxd ]]; then
  _inboxd "$@"
else
  compdef _inboxd inboxd
fi
`;
}

function clause({ at, commands, options, words, takesFile }: Point): string {
  const described = options.flatMap(({ names, description }) => names.map((name) => ({ name, description })));
  const lines = [
    `below=(${commands.map(item).join(" ")})`,
    `names=${quoted(commands.map(({ name }) => name).join(" "))}`,
    `options=(${described.map(item).join(" ")})`,
    `valued=${quoted(namesOf(options, "text", "file").join(" "))}`,
    `filed=${quoted(namesOf(options, "file").join(" "))}`,
    `choices=(${words.map(quoted).join(" ")})`,
    `takes_file=${quoted(takesFile ? "yes" : "")}`,
  ];
  return `      ${quoted(at)})\n${lines
    .filter((line) => !/=(?:\(\)|'')$/.test(line))
    .map((line) => `        ${line}\n`)
    .join("")}        ;;`;
}

/** A choice as `name:description`. A colon in the name is escaped, because the first bare colon ends the name. */
function item({ name, description }: Choice): string {
  return quoted(`${name.replaceAll(":", "\\:")}:${description}`);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
