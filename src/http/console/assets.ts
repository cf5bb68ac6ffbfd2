import { consoleScript, consoleStyle } from "./bundle.ts" with { type: "macro" };

export interface Asset {
  /** Has the hash of the content, so that browsers may keep it forever. */
  name: string;
  type: string;
  text: string;
  gzip: Uint8Array<ArrayBuffer>;
}

export const script = asset("console", "js", "text/javascript; charset=utf-8", consoleScript());
export const style = asset("console", "css", "text/css; charset=utf-8", consoleStyle());

function asset(name: string, ending: string, type: string, text: string): Asset {
  return {
    name: `${name}-${Bun.hash(text).toString(36)}.${ending}`,
    type,
    text,
    gzip: Bun.gzipSync(text, { level: 9 }),
  };
}
