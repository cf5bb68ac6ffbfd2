import type { FilePath, TextPath } from "./types.ts";

/** The operations whose content is a stranger's file. Its type is a stranger's claim, so it never changes a byte. */
const files: { readonly [Path in FilePath]: true } = {
  "/v1/attachments/{message_id}/{filename}": true,
  "/v1/messages/{id}/raw": true,
  "/v1/messages/{id}/reports/{report_id}/raw": true,
};

const texts: { readonly [Path in TextPath]: true } = {
  "/docs": true,
  "/v1/messages/{id}/html": true,
};

/** The content of a response of 2xx. Throws a `SyntaxError` if it should be JSON and is not, as the page of a proxy. */
export async function contentOf(path: string, response: Response): Promise<unknown> {
  if (response.status === 204) return undefined;
  if (Object.hasOwn(files, path)) return new Uint8Array(await response.arrayBuffer());
  if (Object.hasOwn(texts, path)) return response.text();
  const type = response.headers.get("content-type") ?? "no type";
  if (/[/+]json\b/.test(type)) return response.json();
  throw new SyntaxError(`answered ${response.status} with ${type} instead of JSON`);
}
