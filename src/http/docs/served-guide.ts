/** A guide as the service has it: of what lies in the repository alone no picture, and of a link its words. */
export function servedGuide(text: string, isHere: (file: string) => boolean): string {
  return text
    .replace(/^!\[[^\]]*\]\((?!https?:)[^)]*\)\n\n?/gm, "")
    .replace(/\[([^[\]]*)\]\((?!https?:)([^)#\s]+)(?:#[^)\s]*)?\)/g, (link, words: string, file: string) =>
      isHere(file) ? link : words,
    );
}
