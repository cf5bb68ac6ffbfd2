import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { checkDatabase } from "../src/commands/doctor/database.ts";
import type { Finding } from "../src/commands/doctor/finding.ts";
import { openDatabase, query, settingNames } from "../src/database/db.ts";
import { type EmptyDatabase, emptyDatabase } from "./support/database.ts";
import { enginesHere } from "./support/engines.ts";
import { failureOf } from "./support/failure.ts";
import { hasPgBouncer, type PgBouncer, startPgBouncer } from "./support/pgbouncer.ts";
import { send } from "./support/sends.ts";
import { startWorld, type World } from "./support/world.ts";

// Two sessions for 27 clients: each transaction meets what another client has left.
const few = [
  "pool_mode = transaction",
  "server_round_robin = 1",
  "default_pool_size = 2",
  `ignore_startup_parameters = ${settingNames.join(",")}`,
];

describe.if(enginesHere().includes("postgres") && hasPgBouncer)("Behind a PgBouncer in transaction mode", () => {
  let made: EmptyDatabase;
  let bouncer: PgBouncer;
  let world: World;
  const settings = () => ({
    DATABASE_URL: bouncer.url,
    DATABASE_POOLED: "1",
    DATABASE_DIRECT_URL: made.url,
    SENDS_PER_MINUTE: "1000",
  });

  beforeAll(async () => {
    made = await emptyDatabase();
    bouncer = await startPgBouncer(made.url, few);
    world = await startWorld({ database: made, env: settings() });
  });
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    await bouncer?.stop();
    await made?.drop();
  });

  test("everything is answered while mail, sends and requests come at once", async () => {
    const inboxes = await Promise.all(Array.from({ length: 4 }, (_, n) => world.inbox(`load${n}`)));
    const failures: unknown[] = [];
    await Promise.all(
      inboxes.map(async ({ id, address }) => {
        for (let round = 0; round < 8; round++) {
          const body = {
            subject: `Reply ${round}`,
            attachments: [{ filename: "a.bin", content: Buffer.alloc(3000, round).toString("base64") }],
          };
          const [reply, sent, ...lists] = await Promise.all([
            world.deliver(
              `From: jane@example.com\r\nTo: ${address}\r\nSubject: ${round}\r\n\r\nHello ${round}\r\n`,
              address,
            ),
            send(world, id, body),
            ...["threads", "messages", "messages?q=hello"].map((list) => world.api(`/v1/inboxes/${id}/${list}`)),
          ]);
          if (!reply.startsWith("250")) failures.push(reply);
          for (const answer of [sent, ...lists]) if (answer.status > 299) failures.push(answer.status, answer.body);
        }
      }),
    );
    expect(failures).toEqual([]);
  });

  test("notifications arrive, since their connection is a direct one", async () => {
    const db = await openDatabase({ url: bouncer.url, directUrl: made.url, dataDir: "" });
    const heard = Promise.withResolvers<string>();
    const stop = await db.listen("heard", heard.resolve);
    await query(db.api, sql`select pg_notify('heard', 'this')`);
    expect(await heard.promise).toBe("this");
    await stop();
    await db.close();
  });

  async function seenByDoctor(databaseDirectUrl: string, databaseUrl = bouncer.url): Promise<Finding[]> {
    const now = () => new Date();
    const askServer = () => Promise.reject(new Error());
    const rest = { isAuthenticating: false, dataDir: "", processes: 1, now, askServer };
    return (await checkDatabase({ databaseUrl, databaseDirectUrl, ...rest })).findings;
  }

  test("doctor prints the settings that the role lacks, and finds them once they are set", async () => {
    const ofRole = (findings: Finding[]) => findings.find(({ check }) => check === "database role");
    const before = ofRole(await seenByDoctor(made.url));
    expect(before).toMatchObject({ level: "warn", seen: expect.stringContaining("statement_timeout, which is 0") });
    const db = await openDatabase({ url: made.url, dataDir: "" });
    await db.api.script(before?.todo ?? "").finally(db.close);
    // Sessions that the pooler has open keep the settings from before.
    const renewed = await startPgBouncer(made.url, few);
    expect(ofRole(await seenByDoctor(made.url, renewed.url).finally(renewed.stop))).toMatchObject({ level: "ok" });
  });

  test("a direct URL that leads through it too, or elsewhere, is refused", async () => {
    const open = (directUrl: string) => failureOf(openDatabase({ url: bouncer.url, directUrl, dataDir: "" }));
    // Another one, since the look at its sessions is surer while nobody else uses them.
    const another = await startPgBouncer(made.url, few);
    expect(String(await open(another.url).finally(another.stop))).toContain(
      "shares one session between several clients",
    );
    const elsewhere = await emptyDatabase();
    expect(String(await open(elsewhere.url))).toContain("lead to different ones");
    expect(await seenByDoctor(elsewhere.url)).toMatchObject([{ level: "fail" }]);
    await elsewhere.drop();
  });
});
