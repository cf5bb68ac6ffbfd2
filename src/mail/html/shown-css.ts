/**
 * Style of anybody that fetches nothing. What names an address is no style any more, unless pictures may come from elsewhere: then an
 * address of a picture stays, and the policy of the page decides. Nothing that is left can end the element or the attribute around it.
 */
export function shownCss(css: string, mayFetchPictures: boolean): string {
  const plain = css
    .slice(0, longestCss)
    .replaceAll(comment, " ")
    // An escape can write every other letter, and with it every name below. Mail has none that anybody would miss.
    .replaceAll(/[\\<]/g, "")
    .replaceAll(/@(?:import|charset|namespace|font-face)/gi, "@none");
  return plain.replaceAll(fetching, (call, name: string) =>
    mayFetchPictures && name.toLowerCase() === "url" ? call : "none",
  );
}

/** No mail has so much of it. */
const longestCss = 256 * 1024;

/** One without an end takes the rest, as it does for browsers. */
const comment = /\/\*(?:[^*]|\*(?!\/))*(?:\*\/)?/g;

const fetching = /\b(url|src|image-set|image|cross-fade|element|expression|attr)\s{0,9}\((?:[^()]{0,500}\))?/gi;
