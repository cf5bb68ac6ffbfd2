import type { Answer, World } from "./world.ts";

/** Incompressible bytes, the same for the same seed. */
export function randomFile(sizeBytes: number, seed = 1): Uint8Array<ArrayBuffer> {
  const words = new Uint32Array(Math.ceil(sizeBytes / 4));
  let state = seed >>> 0 || 1;
  for (let at = 0; at < words.length; at += 1) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    words[at] = state;
  }
  return new Uint8Array(words.buffer, 0, sizeBytes);
}

export function sha256(bytes: Uint8Array | string): string {
  return new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
}

export interface UploadOptions {
  filename?: string;
  contentType?: string | null;
  apiKey?: string;
}

/** Uploads a file, by default as `invoice.pdf`. */
export async function upload(world: World, bytes: Uint8Array | string, options: UploadOptions = {}): Promise<Answer> {
  const { filename = "invoice.pdf", contentType = "application/pdf", apiKey = world.apiKey } = options;
  const response = await fetch(new URL(`/v1/uploads?filename=${encodeURIComponent(filename)}`, world.service.apiUrl), {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, ...(contentType !== null && { "content-type": contentType }) },
    // A stream, since fetch adds no content type to it.
    body: typeof bytes === "string" ? new TextEncoder().encode(bytes) : new Uint8Array(bytes),
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

export interface FormOptions {
  key: string;
  apiKey?: string;
  texts?: Record<string, string | string[]>;
  message?: object;
  files?: readonly (readonly [part: string, bytes: Uint8Array<ArrayBuffer>, filename: string, contentType?: string])[];
}

/** Sends a form as a browser does. */
export async function sendForm(world: World, inboxId: string, options: FormOptions): Promise<Answer> {
  const { key, apiKey = world.apiKey, texts = {}, message, files = [] } = options;
  const form = new FormData();
  for (const [name, value] of Object.entries(texts)) for (const each of [value].flat()) form.append(name, each);
  for (const [part, bytes, filename, type] of files)
    form.append(part, new File([bytes], filename, type ? { type } : {}));
  if (message !== undefined) form.append("message", new Blob([JSON.stringify(message)], { type: "application/json" }));
  const response = await fetch(new URL(`/v1/inboxes/${inboxId}/send`, world.service.apiUrl), {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "idempotency-key": key, prefer: "respond-async" },
    body: form,
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}
