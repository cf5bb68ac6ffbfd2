import { consoleScripts, consoleStyle } from "./bundle.ts" with { type: "macro" };

export interface Asset {
  /** Contains the hash of the content, so that browsers may keep it forever. */
  name: string;
  type: string;
  text: string;
  gzip: Uint8Array<ArrayBuffer>;
}

const scripts = consoleScripts().map(({ name, text }) => asset(name, "text/javascript", text));
const styleText = consoleStyle();

/** The script of the page. It loads the other scripts, one or a few for each screen. */
export const script = scripts.find(({ name }) => name.startsWith("console-")) as Asset;
export const style = asset(`console-${Bun.hash(styleText).toString(36)}.css`, "text/css", styleText);

export const assets: ReadonlyMap<string, Asset> = new Map([...scripts, style].map((each) => [each.name, each]));

function asset(name: string, type: string, text: string): Asset {
  return { name, type: `${type}; charset=utf-8`, text, gzip: Bun.gzipSync(text, { level: 9 }) };
}
