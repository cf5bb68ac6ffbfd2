import { sql } from "drizzle-orm";
import { type Db, query, transaction } from "../../src/database/db.ts";
import { defaultInboundPolicy, type InboundPolicy } from "../../src/domain/policy.ts";
import type { Rule } from "../../src/domain/rules.ts";
import { signalToForget } from "../../src/store/channels.ts";
import { insertRows } from "../../src/store/rows.ts";
import { policies, rules } from "../../src/store/schema.ts";
import { mailOf } from "./mail.ts";
import type { World, WorldInbox } from "./world.ts";

let made = 0;

/** Adds an inbound rule of an account, or of one inbox, and tells the processes of it. Returns its id. */
export async function addRule(
  db: Db,
  { accountId, ...rule }: { accountId: string } & Pick<Rule, "action" | "pattern"> & Partial<Rule>,
): Promise<string> {
  made += 1;
  const id = `rul_${String(made).padStart(26, "0")}`;
  const scope = { inboxId: "", externalId: "", direction: "inbound", evenUnauthenticated: false } as const;
  await transaction(db, async (tx) => {
    await insertRows(tx, rules, [{ ...scope, ...rule, id, accountId, createdAt: new Date() }]);
    await signalToForget(tx, { kind: "rules", accountId });
  });
  return id;
}

/** Sets the policy of an account, or of one inbox. */
export async function setPolicy(
  db: Db,
  { accountId, inboxId = "", ...inbound }: { accountId: string; inboxId?: string } & Partial<InboundPolicy>,
): Promise<void> {
  const row = { accountId, inboxId, externalId: "", inbound: { ...defaultInboundPolicy, ...inbound } };
  await transaction(db, async (tx) => {
    await insertRows(tx, policies, [row]);
    await signalToForget(tx, { kind: "rules", accountId });
  });
}

/** Has a mail from Eve blocked by a rule of the inbox, and returns the id of the quarantined mail. */
export async function quarantinedMail(
  world: World,
  inbox: WorldInbox,
  { raw, apiKey = world.apiKey }: { raw?: string; apiKey?: string } = {},
): Promise<string> {
  const { api: db } = world.service.deps.db;
  const pattern = "eve@blocked.example";
  const [owner] = await query<{ accountId: string }>(
    db,
    sql`select account_id as "accountId" from inboxes where id = ${inbox.id}
        and not exists (select from rules where inbox_id = ${inbox.id} and pattern = ${pattern})`,
  );
  if (owner !== undefined) {
    await addRule(db, { ...owner, inboxId: inbox.id, action: "block", pattern });
    // Rules of an account are remembered for 30 seconds.
    world.clock.pass(30_000);
  }
  const mail = raw ?? mailOf({ subject: "Buy", messageId: `${crypto.randomUUID()}@blocked.example` });
  const reply = await world.deliver(mail, inbox.address, pattern);
  if (!reply.startsWith("250")) throw new Error(`Cannot quarantine a mail: ${reply}`);
  return (await world.api(`/v1/quarantine?inbox_id=${inbox.id}`, { apiKey })).body.data[0].id;
}
