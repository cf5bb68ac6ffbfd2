import { open } from "node:fs/promises";
import { type Inboxd, InboxdError, type Schemas } from "../../../sdk/typescript/src/inboxd.ts";
import type { SuppressionReason } from "../../domain/send/suppressed.ts";
import { realWorld } from "../../service/time-and-chance.ts";
import { printExported } from "../cli.ts";
import { clientOf, type ServerOptions } from "../client.ts";
import { reasonOf } from "../failure.ts";
import { openImport } from "../move/import-source.ts";
import { print } from "../terminal.ts";
import { isLeftOut, type ListEntry, listEntries } from "./entries.ts";

export interface ImportOptions extends ServerOptions {
  reason: SuppressionReason;
}

export interface ExportOptions extends ServerOptions {
  json?: boolean;
}

/** Writes all suppressions to a new file or to stdout. Never overwrites a file. */
export async function exportSuppressions(path: string, { json = false, ...server }: ExportOptions): Promise<void> {
  const client = clientOf(server);
  const made = path === "-" ? await writeToStdout(client) : await writeToFile(client, path);
  printExported(made, path, json);
}

async function writeToStdout(client: Inboxd): Promise<object> {
  let exported = 0;
  for await (const suppression of client.suppressions.list({ limit: 100 })) {
    process.stdout.write(lineOf(suppression));
    exported += 1;
  }
  return { exported };
}

async function writeToFile(client: Inboxd, path: string): Promise<object> {
  const file = await open(path, "wx", 0o600).catch((error: unknown) => {
    throw new Error(`Cannot export suppressions: ${path}: ${reasonOf(error)}`);
  });
  let exported = 0;
  try {
    for await (const suppression of client.suppressions.list({ limit: 100 })) {
      await file.writeFile(lineOf(suppression));
      exported += 1;
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return { file: path, exported };
}

/** One line of JSON, without the ids of the suppression and of its message, which another service does not have. */
function lineOf({ address, inboxId, reason, detail, createdAt, expiresAt }: Schemas["Suppression"]): string {
  return `${JSON.stringify({ address, inboxId, reason, detail, createdAt, expiresAt })}\n`;
}

/** The most entries of one request. Even with the longest fields its body stays within the limit of the service. */
const mostAtOnce = 500;
/** After this many left-out entries, no further messages about them are printed. */
const mostNamed = 20;

/** Adds the entries of a list. A repeated import changes nothing. */
export async function importSuppressions(path: string, { reason, ...server }: ImportOptions): Promise<object> {
  const client = clientOf(server);
  const source = await openImport(path);
  const sum = { created: 0, existing: 0, leftOut: 0 };
  // Groups the entries by inbox: a request with an unknown inbox fails as a whole, also for the entries of other inboxes.
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
      if (group.length === mostAtOnce) await add(group.splice(0));
    }
    for (const group of waiting.values()) if (group.length > 0) await add(group);
  } finally {
    await source.close();
  }
  if (sum.leftOut > mostNamed) print("… and others\n", process.stderr);
  return { ...sum };

  async function add(data: ListEntry[]): Promise<void> {
    try {
      const { created, existing } = (await client.suppressions.add({ data })) as Schemas["AddedSuppressions"];
      sum.created += created;
      sum.existing += existing;
      const skipped = data.length - created - existing;
      if (skipped > 0) leaveOut(skipped, `${skipped} entries that occur twice, or are bounces that have expired`);
    } catch (error) {
      if (!(error instanceof InboxdError) || error.problem.resource !== "inbox") throw error;
      leaveOut(data.length, `${data.length} entries of inbox ${data[0]?.inboxId}: the account has no such inbox`);
    }
  }

  function leaveOut(count: number, why: string): void {
    if (sum.leftOut < mostNamed) print(`Left out ${why}\n`, process.stderr);
    sum.leftOut += count;
  }
}
