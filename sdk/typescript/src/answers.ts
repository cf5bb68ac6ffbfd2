import type { FilePath } from "./types.ts";

/** Where what somebody sent is answered: its type is a stranger's word, and no reason to change a byte. */
const files: { readonly [Path in FilePath]: true } = {
  "/v1/attachments/{message_id}/{filename}": true,
  "/v1/messages/{id}/raw": true,
  "/v1/messages/{id}/reports/{report_id}/raw": true,
};

/** What an answer other than a refusal holds: of a file the bytes, else JSON as its value, other text as text. */
export async function contentOf(path: string, response: Response): Promise<unknown> {
  const type = response.headers.get("content-type") ?? "";
  if (response.status === 204) return undefined;
  if (Object.hasOwn(files, path)) return await bytesOf(response);
  if (/[/+]json\b/.test(type)) return await response.json();
  return /^text\//.test(type) ? await response.text() : await bytesOf(response);
}

async function bytesOf(response: Response): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await response.arrayBuffer());
}
