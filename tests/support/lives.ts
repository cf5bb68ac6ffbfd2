import { afterAll, beforeAll } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { settable } from "./clock.ts";
import { makeServiceDatabase } from "./database.ts";
import type { EngineName } from "./engines.ts";
import { type RunningInboxd, startInboxd } from "./inboxd.ts";
import { type PostgresServer, startPostgres } from "./postgres.ts";
import { type ReceivedMail, type Script, type ScriptedSmtp, scriptedSmtp } from "./scripted-smtp.ts";
import { startWorld, type World, type WorldDatabase } from "./world.ts";

const apiKey = "key-of-the-first-account-in-tests";
const limits = { SENDS_PER_MINUTE: "0", SENDS_PER_DAY: "0", COLD_RECIPIENT_DAILY: "0", INBOXES_PER_DAY: "0" };

/** A database and a directory that outlive their processes. */
export interface Life extends AsyncDisposable {
  /** The address of its database; undefined for an embedded one. */
  url: string | undefined;
  relay(script?: Script): Promise<ScriptedSmtp>;
  start(relay: ScriptedSmtp, env?: Record<string, string>): Promise<RunningInboxd>;
  /** The service again after its process died, an hour later, with a relay that works. */
  recover(): Promise<World & { settled(): Promise<void> }>;
  /** All complete mails of all relays, in order. */
  mails(): ReceivedMail[];
}

/** One database and directory, for processes that run one after the other. */
export function livesOn(engine: EngineName): () => Promise<Life> {
  const given = process.env.TEST_DATABASE_URL;
  let server: PostgresServer | undefined;
  let made = 0;
  beforeAll(async () => {
    if (engine === "postgres" && !given) server = await startPostgres();
  }, 30_000);
  afterAll(async () => {
    await server?.remove();
  }, 30_000);

  async function database(): Promise<WorldDatabase | undefined> {
    if (engine === "embedded") return undefined;
    if (given) return makeServiceDatabase(given);
    made += 1;
    await server?.ask(`create database life_${made}`);
    return { url: server?.url(`life_${made}`) ?? "", drop: async () => undefined };
  }

  return async () => {
    const db = await database();
    const dataDir = mkdtempSync(join(tmpdir(), "ibx-life-"));
    const relays: ScriptedSmtp[] = [];
    const running = new Set<RunningInboxd>();
    let world: World | undefined;
    const env = (relay: ScriptedSmtp) => ({
      ...limits,
      DATA_DIR: dataDir,
      API_KEY: apiKey,
      LOG_LEVEL: "info",
      OUTBOUND: `smtp://127.0.0.1:${relay.port}?tls=off`,
    });
    const life: Life = {
      url: db?.url,
      async relay(script) {
        const relay = await scriptedSmtp(script);
        relays.push(relay);
        return relay;
      },
      async start(relay, more) {
        const process = await startInboxd({ env: { ...env(relay), ...(db && { DATABASE_URL: db.url }), ...more } });
        running.add(process);
        return process;
      },
      async recover() {
        const started = await startWorld({
          database: db ?? "embedded",
          env: env(await life.relay()),
          clock: settable(new Date(Date.now() + 3_600_000).toISOString()),
        });
        world = started;
        return Object.assign(started, { settled: () => emptied(started) });
      },
      mails: () => relays.flatMap(({ mails }) => mails),
      async [Symbol.asyncDispose]() {
        for (const process of running) await kill(process);
        await world?.[Symbol.asyncDispose]();
        for (const relay of relays) await relay.close();
        rmSync(dataDir, { recursive: true, force: true });
        await db?.drop();
      },
    };
    return life;
  };
}

/** Waits until the outbox is empty. */
async function emptied({ service: { deps } }: World): Promise<void> {
  const left = () => deps.db.api.run("select 1 from outbox limit 1", []);
  while ((await left()).length > 0) await Bun.sleep(10);
}

export async function newInboxOf(process: RunningInboxd): Promise<string> {
  const response = await process.request("POST", "/v1/inboxes", {}, apiKey);
  return ((await response.json()) as { id: string }).id;
}

export async function kill(process: RunningInboxd): Promise<void> {
  process.signal("SIGKILL");
  await process.exited;
}
