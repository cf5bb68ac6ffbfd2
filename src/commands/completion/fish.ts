import { namesOf, type Point, type PointOption } from "./points.ts";

export function fishCompletion(points: readonly Point[]): string {
  const commands = points.filter(({ at }) => at !== "").map(({ at }) => quoted(at));
  const valued = points.flatMap(({ at, options }) => {
    return namesOf(options, "text", "file").map((name) => quoted(`${at} ${name}`));
  });
  return `# For this shell:  inboxd completion fish | source
# For every shell: inboxd completion fish > ~/.config/fish/completions/inboxd.fish
function __inboxd_is_at
    set -l at ''
    set -l is_value no
    for word in (commandline -opc)[2..]
        if test $is_value = yes
            set is_value no
            continue
        end
        switch "$at $word"
            case ${commands.join(" ")}
                set at "$at $word"
            case ${valued.join(" ")}
                set is_value yes
        end
    end
    test "$at" = "$argv"
end
complete -c inboxd -f
${points.flatMap(linesOf).join("\n")}
`;
}

function linesOf({ at, commands, options, words, takesFile }: Point): string[] {
  const here = `complete -c inboxd -n ${quoted(`__inboxd_is_at ${quoted(at)}`)}`;
  return [
    ...commands.map(({ name, description }) => `${here} -a ${quoted(name)} -d ${quoted(description)}`),
    ...words.map((word) => `${here} -a ${quoted(word)}`),
    ...(takesFile ? [`${here} -F`] : []),
    ...options.map((option) => `${here} ${flagsOf(option)} -d ${quoted(option.description)}`),
  ];
}

function flagsOf({ names, value }: PointOption): string {
  const flags = names.map((name) => (name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
  const takes = { none: "", text: " -x", file: " -r -F" }[value];
  return `${flags.join(" ")}${takes}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
