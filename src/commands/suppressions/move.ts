import { open } from "node:fs/promises";
import type { SuppressionReason } from "../../domain/send/suppressed.ts";
import { realWorld } from "../../service/time-and-chance.ts";
import { type ApiClient, ApiProblem, apiClient, type ServerOptions } from "../api-client.ts";
import { tellExported } from "../cli.ts";
import { reasonOf } from "../failure.ts";
import { openImport } from "../move/import-source.ts";
import { tell } from "../terminal.ts";
import { isLeftOut, type ListEntry, listEntries } from "./list-entries.ts";

export interface Suppression {
  id: string;
  address: string;
  inboxId: string | null;
  reason: SuppressionReason;
  detail: string | null;
  messageId: string | null;
  createdAt: string;
  expiresAt: string | null;
}

export interface SuppressionPage {
  data: Suppression[];
  nextCursor: string | null;
}

export interface MoveOptions extends ServerOptions {
  reason: SuppressionReason;
}

export interface ExportOptions extends ServerOptions {
  json?: boolean;
}

/** What is there already is never written over. */
export async function moveOut(path: string, { json = false, ...server }: ExportOptions): Promise<void> {
  const api = apiClient(server);
  const made = path === "-" ? await writeToStdout(api) : await writeToFile(api, path);
  tellExported(made, path, json);
}

async function writeToStdout(api: ApiClient): Promise<object> {
  let exported = 0;
  for await (const suppression of all(api)) {
    process.stdout.write(lineOf(suppression));
    exported += 1;
  }
  return { exported };
}

async function writeToFile(api: ApiClient, path: string): Promise<object> {
  const file = await open(path, "wx", 0o600).catch((error: unknown) => {
    throw new Error(`Cannot export suppressions: ${path}: ${reasonOf(error)}`);
  });
  let exported = 0;
  try {
    for await (const suppression of all(api)) {
      await file.writeFile(lineOf(suppression));
      exported += 1;
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return { file: path, exported };
}

async function* all(api: ApiClient): AsyncGenerator<Suppression> {
  let cursor: string | null | undefined;
  do {
    const query: Record<string, string | number | undefined> = { limit: 100, cursor: cursor ?? undefined };
    const page: SuppressionPage = await api.ask("GET", "/v1/suppressions", { query });
    yield* page.data;
    cursor = page.nextCursor;
  } while (cursor !== null);
}

/** Without what is of this service alone: its id, and the message that it came of. */
function lineOf({ address, inboxId, reason, detail, createdAt, expiresAt }: Suppression): string {
  return `${JSON.stringify({ address, inboxId, reason, detail, createdAt, expiresAt })}\n`;
}

/** So many one request brings: with the longest words they are still a body that is taken. */
const mostAtOnce = 500;
/** So many of what was left out are named. */
const mostNamed = 20;

/** May be repeated: what is there already stays as it is. */
export async function moveIn(path: string, { reason, ...server }: MoveOptions): Promise<object> {
  const api = apiClient(server);
  const source = await openImport(path);
  const sum = { created: 0, existing: 0, leftOut: 0 };
  // An inbox that is not here takes no others with it.
  const waiting = new Map<string, ListEntry[]>();
  try {
    for await (const entry of listEntries(source.lines(), { reason, now: realWorld.now() })) {
      if (isLeftOut(entry)) {
        leaveOut(1, `line ${entry.line}: ${entry.why}`);
        continue;
      }
      const group = waiting.get(entry.inboxId ?? "") ?? [];
      waiting.set(entry.inboxId ?? "", group);
      group.push(entry);
      if (group.length === mostAtOnce) await bring(group.splice(0));
    }
    for (const group of waiting.values()) if (group.length > 0) await bring(group);
  } finally {
    await source.close();
  }
  if (sum.leftOut > mostNamed) tell("… and others\n", process.stderr);
  return { ...sum };

  async function bring(data: readonly ListEntry[]): Promise<void> {
    try {
      const { created, existing } = await api.ask<{ created: number; existing: number }>("POST", "/v1/suppressions", {
        body: { data },
      });
      sum.created += created;
      sum.existing += existing;
      const passedOver = data.length - created - existing;
      if (passedOver > 0) leaveOut(passedOver, `${passedOver} that came twice, or are bounces that have ended`);
    } catch (error) {
      if (!(error instanceof ApiProblem) || error.resource !== "inbox") throw error;
      leaveOut(data.length, `${data.length} of inbox ${data[0]?.inboxId}: the account has no such inbox`);
    }
  }

  function leaveOut(count: number, why: string): void {
    if (sum.leftOut < mostNamed) tell(`Left out ${why}\n`, process.stderr);
    sum.leftOut += count;
  }
}
