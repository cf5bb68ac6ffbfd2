import { sql } from "drizzle-orm";
import { query } from "../../src/database/db.ts";
import { returnPaths } from "../../src/domain/reports/return-path.ts";
import { returnPathKey } from "../../src/standards/signature.ts";
import { send } from "./sends.ts";
import type { World } from "./world.ts";

/** The signing key of worlds for which tests make return paths. */
export const signingKey = "a-signing-key-of-tests-that-is-long-enough";

export interface SentMessage {
  id: string;
  returnPath: string;
}

/** The return path of a message of such a world. */
export async function returnPathOf(messageId: string): Promise<string> {
  return returnPaths(await returnPathKey(signingKey), "inbox.localhost").make(messageId);
}

let recipients = 0;

/** Sends a mail that the next server accepts, by default to a new recipient; returns its return path. */
export async function sent(
  world: World,
  inboxId: string,
  to = `new-${++recipients}@example.com`,
): Promise<SentMessage> {
  const { body } = await send(world, inboxId, { to }, { waits: true });
  if (body.status !== "sent") throw new Error(`Cannot send: ${JSON.stringify(body)}`);
  return { id: body.messageId, returnPath: await returnPathOf(body.messageId) };
}

/** Hands in a report as servers do, with a null sender. */
export function report(world: World, mail: string, to: string | readonly string[], from = ""): Promise<string> {
  return world.deliver(mail.replaceAll(/\r?\n/g, "\r\n"), to, from);
}

/** The events of one type from the log. */
export async function eventsOf(world: World, type: string) {
  const { body } = await world.api(`/v1/events?types=${type}&limit=100`);
  return body.data;
}

/** All suppressions. */
export async function suppressed(world: World): Promise<SuppressedRow[]> {
  return query(
    world.service.deps.db.api,
    sql`select address, reason, inbox_id as "inboxId", expires_at as "expiresAt" from suppressions order by address`,
  );
}

interface SuppressedRow {
  address: string;
  reason: string;
  inboxId: string;
  expiresAt: Date | null;
}
