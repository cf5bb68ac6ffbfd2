import { tmpdir } from "node:os";
import { sql } from "drizzle-orm";
import pino from "pino";
import { type Database, query } from "../../src/database/db.ts";
import { wholeAccount } from "../../src/domain/access/access.ts";
import { service } from "../../src/domain/access/actor.ts";
import { webhookScheduleSeconds } from "../../src/domain/backoff.ts";
import { idMaker } from "../../src/domain/ids.ts";
import { perPlan } from "../../src/domain/limits.ts";
import type { ParsedMail } from "../../src/domain/message.ts";
import type { RelayOutcome } from "../../src/domain/outcome.ts";
import { createInbox } from "../../src/flows/account/create-inbox.ts";
import { createAccount } from "../../src/flows/account/manage-accounts.ts";
import { accountRules } from "../../src/flows/account-rules.ts";
import { localChanges } from "../../src/flows/changes.ts";
import type { Deps } from "../../src/flows/deps.ts";
import { newDefaultEndpoint } from "../../src/flows/events/manage-webhook.ts";
import { ownHosts } from "../../src/flows/own-hosts.ts";
import { attachmentLinks } from "../../src/flows/read/attachment-links.ts";
import { mailReceiver } from "../../src/flows/receive/receive-email.ts";
import { emailSender } from "../../src/flows/send/send-email.ts";
import type { Relay } from "../../src/relay/relay.ts";
import { forAll, type RelayedMail } from "../../src/relay/relayed-mail.ts";
import { newWebhookSecret } from "../../src/standards/signature.ts";
import { insertEndpoint } from "../../src/store/events/endpoints.ts";
import { listDeliveries } from "../../src/store/outbox/deliveries.ts";
import { listSentMessages } from "../../src/store/send/send-facts.ts";
import { webhookClient } from "../../src/webhook/client.ts";
import { startWorkers, type WorkerDeps, type Workers } from "../../src/workers/scheduler.ts";
import { envelopeTo } from "./arrivals.ts";
import { type Clock, settable } from "./clock.ts";
import { noLimits } from "./limits.ts";
import { plainSealing } from "./plain-sealing.ts";

export interface OutboxWorldOptions {
  clock?: Clock;
  deps?: Partial<WorkerDeps>;
}

/** Flows and workers of one process over a database, without the doors, with a clock that the test moves. */
export async function outboxWorld(db: Database, { clock = settable(), deps: own = {} }: OutboxWorldOptions = {}) {
  const log: Record<string, unknown>[] = [];
  const logger = pino({ level: "info" }, { write: (line: string) => void log.push(JSON.parse(line)) });
  const randomBytes = (length: number) => crypto.getRandomValues(new Uint8Array(length));
  let workers: Workers | undefined;
  const relay = recordingRelay();
  const deps: WorkerDeps = {
    db,
    now: clock.now,
    random: () => 0.5,
    randomBytes,
    newId: idMaker(randomBytes),
    sealing: plainSealing,
    log: logger,
    mailDomain: "inbox.localhost",
    limits: perPlan(() => noLimits),
    searchWords: perPlan(() => "all" as const),
    recipientsMax: 50,
    isDirect: false,
    cell: "00",
    cellPeers: [],
    nudge: (kind) => kind !== "dispatch" && workers?.nudge(kind),
    changes: localChanges(),
    relay,
    signMail: async () => undefined,
    hosts: ownHosts({ db, now: clock.now }, false),
    door: { recipient: async () => ({ kind: "unknown" }), accept: async () => "gone" },
    receiveUnparsed: async () => "unavailable",
    spoolDirectory: tmpdir(),
    envelopeFrom: async (_messageId, from) => from,
    askDelivered: false,
    maxQueueHours: 48,
    webhooks: webhookClient({ allowPrivate: true, version: "0.0.0" }),
    links: await attachmentLinks({
      signingKey: "k".repeat(32),
      ttlSeconds: 900,
      cell: "00",
      baseUrl: () => "http://localhost:3000",
    }),
    webhookTimeoutMs: 15_000,
    webhookRetrySeconds: webhookScheduleSeconds,
    webhookDisableDays: 5,
    eventRetentionDays: 30,
    messageRetentionDays: 0,
    trashDays: 0,
    ...own,
  };
  const sendEmail = emailSender({ ...deps, rules: accountRules(deps) }, async () => undefined);
  const receiveMail = mailReceiver(deps);
  let sends = 0;
  let arrivals = 0;

  return {
    deps,
    clock,
    log,
    relay,
    /** The workers, once started. */
    async start(): Promise<Workers> {
      workers = await startWorkers(deps);
      return workers;
    },
    /** Acts as if the process had died: it does nothing more. */
    async stop(graceMs = 5000): Promise<void> {
      await workers?.stop(graceMs);
      workers = undefined;
    },
    newInbox: (accountId?: string) => newInbox(deps, accountId),
    /** The id of a message that waits to be relayed. */
    async send(inbox: { id: string; accountId: string }, to: string): Promise<string> {
      sends += 1;
      const sent = await sendEmail({
        account: { id: inbox.accountId, keyId: "key_1", plan: "developer" },
        inboxId: inbox.id,
        idempotencyKey: deps.newId("key", clock.now()),
        recipients: [{ address: to, name: undefined, type: "to" }],
        subject: `Mail ${sends}`,
        body: "Hello",
        bodyHtml: undefined,
        threadId: undefined,
        includeQuote: true,
        replyTo: undefined,
        readUpToMessageId: undefined,
        autoSubmitted: undefined,
        ignoreLoop: undefined,
      });
      if (sent.kind !== "accepted") throw new Error(`Not accepted: ${sent.kind}`);
      return sent.message.id;
    },
    /** Makes the account's webhook; returns its secret. */
    async setWebhook(accountId: string, url: string): Promise<string> {
      const secret = newWebhookSecret(randomBytes);
      await insertEndpoint(db.api, newDefaultEndpoint(deps, { accountId, url, secret }));
      return secret;
    },
    /** Files a mail as if it came by SMTP. */
    async receive(inbox: { id: string }, mail: Partial<ParsedMail> = {}, alsoTo: readonly { id: string }[] = []) {
      arrivals += 1;
      const messageId = `${deps.newId("msg", clock.now())}@mail.example`;
      const arriving = { ...emptyMail, messageId, subject: `Mail ${arrivals}`, ...mail };
      const raw = new TextEncoder().encode(`Message-ID: <${messageId}>\r\n\r\nHello\r\n`);
      const recipients = [inbox, ...alsoTo].map(({ id }) => ({ inboxId: id, toAddr: "bot@inbox.localhost" }));
      await receiveMail({ envelope: envelopeTo(recipients), raw, mail: arriving });
    },
    async events(inboxId: string): Promise<{ id: string }[]> {
      return query(
        db.api,
        sql`select id from events where inbox_id = ${inboxId} and type = 'message.received' order by occurred_at, id`,
      );
    },
    deliveries: (eventId: string) => listDeliveries(db.api, { accountId: "", eventId, after: undefined, limit: 1000 }),
    async waiting(): Promise<{ subjectId: string; attempt: number; state: string; dueAt: Date }[]> {
      return query(
        db.api,
        sql`select subject_id as "subjectId", attempt, state, due_at as "dueAt" from outbox order by created_at, subject_id`,
      );
    },
    /** The service's log lines, from warnings up. */
    warnings: () => log.filter(({ level }) => Number(level) >= 40).map(({ msg }) => msg),
    /** Waits until no row of the outbox is in progress or ready. */
    async rested(): Promise<void> {
      for (;;) {
        const rows = await query(
          db.api,
          sql`select from outbox where state <> 'waiting' or due_at <= ${clock.now()} limit 1`,
        );
        if (rows.length === 0) return;
        await Bun.sleep(betweenLooksMs);
      }
    },
    /** Waits until the outbox has no row. */
    async emptied(): Promise<void> {
      while ((await query(db.api, sql`select from outbox limit 1`)).length > 0) await Bun.sleep(betweenLooksMs);
    },
    /** Moves the clock and lets the workers look. */
    pass(ms: number): void {
      clock.pass(ms);
      deps.nudge("relay");
      deps.nudge("webhook");
    },
    async message(id: string) {
      const [message] = await listSentMessages(db.api, [id]);
      return message;
    },
  };
}

/** A pause between looks, which leaves the engine and the processor to the workers. */
const betweenLooksMs = 2;

const emptyMail: ParsedMail = {
  messageId: "",
  inReplyTo: [],
  references: [],
  from: { address: "jane@mail.example", name: "Jane" },
  replyTo: undefined,
  to: [],
  cc: [],
  subject: "Hi",
  bodyText: "Hello",
  bodyHtml: undefined,
  attachments: [],
  signs: {},
  complete: true,
};

async function newInbox(deps: Deps, accountId?: string): Promise<{ id: string; accountId: string; username: string }> {
  const name = `account ${deps.newId("acc", deps.now())}`;
  const owner = accountId ?? (await createAccount(deps, { name, plan: "developer" })).account.id;
  const { inbox } = await createInbox(deps, {
    account: wholeAccount({ id: owner, plan: "developer" }, "key"),
    actor: service,
    externalId: "user-7",
    username: undefined,
    idempotencyKey: undefined,
  });
  return inbox;
}

/** A relay that answers as the test says and records its mails. */
export interface RecordingRelay extends Relay {
  mails: RecordedMail[];
  /** Sets the next answers: for all recipients of a mail, or for each. */
  answer: (
    mail: RecordedMail,
    signal: AbortSignal | undefined,
  ) => RelayOutcome | RelayOutcome[] | Promise<RelayOutcome | RelayOutcome[]>;
  /** Waits for the mail with this number (from 1). */
  mail(number: number): Promise<RecordedMail>;
}

/** A mail with its bytes and its first recipient. */
export interface RecordedMail extends RelayedMail {
  raw: Uint8Array;
  to: string;
}

export const accepted: RelayOutcome = { kind: "sent", reply: "250 2.0.0 Ok", providerMessageId: "Q1" };
export const nobodyAnswers: RelayOutcome = {
  kind: "retry",
  failure: { code: null, enhancedCode: null, message: "connection refused" },
  maybeAccepted: false,
};

function recordingRelay(): RecordingRelay {
  const waiters: (() => void)[] = [];
  const relay: RecordingRelay = {
    mails: [],
    answer: () => accepted,
    async send(relayed, signal) {
      const raw = Buffer.concat(await Array.fromAsync(relayed.body.open()));
      const mail = { ...relayed, raw, to: relayed.recipients[0]?.address ?? "" };
      relay.mails.push(mail);
      for (const waiter of waiters.splice(0)) waiter();
      const answer = await relay.answer(mail, signal);
      return Array.isArray(answer) ? answer : forAll(mail, answer);
    },
    async mail(number) {
      for (;;) {
        const mail = relay.mails[number - 1];
        if (mail !== undefined) return mail;
        await new Promise<void>((resolve) => waiters.push(resolve));
      }
    },
    close: async () => undefined,
    describe: () => "a recording",
    serverOf: () => "relay.example:25",
  };
  return relay;
}
