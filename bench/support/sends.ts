/** Sends over HTTP, to the service or to a part of it that runs as a process. */
import { join } from "node:path";
import type { Load } from "./load.ts";
import { benchKey } from "./service.ts";

export interface SendingServer {
  apiUrl: string;
  apiKey: string;
  pid: number;
}

export interface StartedProgram extends SendingServer {
  stop(): void;
  exited: Promise<number>;
}

/** A program of this folder that prints its port. */
export async function startProgram(
  name: string,
  environment: Record<string, string | undefined>,
  { bunArguments = [] }: { bunArguments?: readonly string[] } = {},
): Promise<StartedProgram> {
  const child = Bun.spawn([process.execPath, ...bunArguments, join(import.meta.dir, "..", name)], {
    env: { ...process.env, ...environment },
    stdout: "pipe",
    stderr: "inherit",
  });
  const { value: port } = await child.stdout.pipeThrough(new TextDecoderStream()).getReader().read();
  return {
    apiUrl: `http://127.0.0.1:${port?.trim()}`,
    apiKey: benchKey,
    pid: child.pid,
    stop: () => child.kill(),
    exited: child.exited,
  };
}

const text = "It is on its way. ".repeat(110);
let loads = 0;

/** Sends from each inbox in turn, each with its own key. */
export function sendsTo(server: SendingServer, inboxIds: readonly string[]): Omit<Load, "connections"> {
  loads += 1;
  const run = `${process.pid}-${loads}`;
  return {
    url: server.apiUrl,
    method: "POST",
    headers: { ...headersOf(server), prefer: "respond-async" },
    headersOf: (number: number) => ({ "idempotency-key": `${run}-${number}` }),
    pathOf: (number: number) => `/v1/inboxes/${inboxIds[number % inboxIds.length]}/send`,
    body: bodyOf,
  };
}

export function headersOf({ apiKey }: SendingServer): Record<string, string> {
  return { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
}

export function bodyOf(number: number): string {
  return JSON.stringify({ to: `jane${number % 100}@example.com`, subject: "Your order", body: text });
}

export async function newInboxes({ apiUrl, apiKey }: SendingServer, count: number): Promise<string[]> {
  const made: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const headers = { authorization: `Bearer ${apiKey}` };
    const response = await fetch(`${apiUrl}/v1/inboxes`, { method: "POST", headers });
    made.push(((await response.json()) as { id: string }).id);
  }
  return made;
}
