import { matchesEntityTag } from "../../standards/byte-range.ts";

export interface StaticText {
  answer(request: Request, set: Answering): string | Uint8Array<ArrayBuffer> | undefined;
}

interface Answering {
  status?: number | string;
  headers: Record<string, string | number>;
}

/**
 * A text that is the same until the next upgrade. A browser asks each time whether it still is, and is told so in a few bytes: script and
 * page shall never be of two versions.
 */
export function staticText(text: string, headers: Readonly<Record<string, string>>): StaticText {
  const entityTag = `"${Bun.hash(text).toString(36)}"`;
  let compressed: Uint8Array<ArrayBuffer> | undefined;
  return {
    answer(request, set) {
      Object.assign(set.headers, headers, {
        etag: entityTag,
        "cache-control": "no-cache",
        "x-content-type-options": "nosniff",
        vary: "accept-encoding",
      });
      if (matchesEntityTag(request.headers.get("if-none-match"), entityTag)) {
        set.status = 304;
        return undefined;
      }
      if (!/\bgzip\b(?!;\s*q=0(?:\.0*)?\b)/.test(request.headers.get("accept-encoding") ?? "")) return text;
      compressed ??= Bun.gzipSync(text);
      set.headers["content-encoding"] = "gzip";
      return compressed;
    },
  };
}
