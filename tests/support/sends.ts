import { randomUUID } from "node:crypto";
import type { Plan } from "../../src/domain/limits.ts";
import { createAccount } from "../../src/flows/account/manage-accounts.ts";
import type { Answer, World } from "./world.ts";

export interface SendOptions {
  /** A random key, unless given. */
  key?: string;
  apiKey?: string;
  /** Waits for the first attempt to relay it. */
  waits?: boolean;
  headers?: Record<string, string>;
}

let keys = 0;

/** Sends to Jane, with these fields changed. It does not wait for the first attempt unless the test says so. */
export function send(
  world: World,
  inboxId: string,
  body: object = {},
  { key, apiKey = world.apiKey, waits = false, headers = {} }: SendOptions = {},
): Promise<Answer> {
  keys += 1;
  return world.api(`/v1/inboxes/${inboxId}/send`, {
    method: "POST",
    body: { to: "jane@example.com", subject: "Hello", body: "Hello Jane", ...body },
    headers: { "idempotency-key": key ?? `key-${keys}`, ...(!waits && { prefer: "respond-async" }), ...headers },
    apiKey,
  });
}

/** Makes another account; returns its key. */
export async function newAccount(world: World, plan: Plan = "developer"): Promise<string> {
  const { deps } = world.service;
  const name = `account ${deps.newId("acc", deps.now())}`;
  return (await createAccount(deps, { name, plan })).apiKey;
}

export async function newInbox(world: World, apiKey = world.apiKey, username?: string): Promise<string> {
  const { status, body } = await world.api("/v1/inboxes", { method: "POST", body: { username }, apiKey });
  if (status !== 201) throw new Error(`Cannot make an inbox: ${JSON.stringify(body)}`);
  return body.id;
}

/** The number of answers by status and code. */
export function tally(answers: readonly Answer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, body } of answers) {
    const name = status === 200 ? "200" : `${status} ${body.code}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

/** Writes a draft in an inbox. Returns its id. */
export async function newDraft(world: World, inboxId: string): Promise<string> {
  const headers = { "idempotency-key": randomUUID() };
  return (await world.api(`/v1/inboxes/${inboxId}/drafts`, { method: "POST", headers, body: {} })).body.id;
}
