import { basename } from "node:path";
import type { ApiClient } from "../api-client.ts";
import { reasonOf, UsageError } from "../failure.ts";

export interface FileOptions {
  attach?: string[];
  inline?: string[];
}

interface SentFile {
  path: string;
  contentId?: string;
}

/** Adds a value to those that the same option was given before. */
export function alsoGiven(value: string, before: string[] = []): string[] {
  return [...before, value];
}

/** What is wrong with the words is told before anything is asked of the server. */
export function filesOf({ attach = [], inline = [] }: FileOptions): SentFile[] {
  return [...inline.map(inlineFile), ...attach.map((path) => ({ path }))];
}

function inlineFile(given: string): SentFile {
  const at = given.indexOf("=");
  if (at < 1 || at === given.length - 1) {
    throw new UsageError(`Cannot send: --inline takes ID=FILE, as logo=logo.png, and not ${JSON.stringify(given)}`);
  }
  return { contentId: given.slice(0, at), path: given.slice(at + 1) };
}

/** Uploads them one after the other. A mail is the same by the bytes of its files: a send that is repeated may upload them anew. */
export async function uploadedFiles(api: ApiClient, files: readonly SentFile[]): Promise<object[]> {
  const uploaded: object[] = [];
  for (const { path, contentId } of files) {
    const file = Bun.file(path);
    await file.stat().catch((error: unknown) => {
      throw new Error(`Cannot read ${path}: ${reasonOf(error)}`);
    });
    const { id } = await api.upload<{ id: string }>("/v1/uploads", { query: { filename: basename(path) }, file });
    uploaded.push({ uploadId: id, ...(contentId !== undefined && { inline: true, contentId }) });
  }
  return uploaded;
}
