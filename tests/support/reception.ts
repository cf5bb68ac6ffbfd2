import { join } from "node:path";
import type { Database } from "../../src/database/db.ts";
import { returnPaths } from "../../src/domain/reports/return-path.ts";
import { unsubscribeNames } from "../../src/domain/reports/unsubscribing.ts";
import { accountRules } from "../../src/flows/account-rules.ts";
import { ownHosts } from "../../src/flows/own-hosts.ts";
import { mailDoor } from "../../src/flows/receive/accept-mail.ts";
import { inboxOwners } from "../../src/flows/receive/inbox-owners.ts";
import { withJudgment } from "../../src/flows/receive/judge-mail.ts";
import { mailReceiver } from "../../src/flows/receive/receive-email.ts";
import { reportReception } from "../../src/flows/receive/receive-report.ts";
import { mailReleaser } from "../../src/flows/receive/release-mail.ts";
import { receiveUnparsed, type UnparsedDeps } from "../../src/flows/receive/unparsed-mail.ts";
import { unsubscribing } from "../../src/flows/send/unsubscribe.ts";
import { type MailParserOptions, mailParser } from "../../src/mail/read/parse.ts";
import { smtpDoor } from "../../src/service/receiving.ts";
import { startSmtp } from "../../src/smtp/listener.ts";
import { defaultLimits } from "../../src/smtp/smtp-limits.ts";
import { originOf } from "../../src/standards/ip.ts";
import { returnPathKey } from "../../src/standards/signature.ts";
import { testCertificate } from "./mail-door.ts";
import { type OutboxWorldOptions, outboxWorld } from "./outbox-world.ts";

export interface ReceptionOptions extends OutboxWorldOptions {
  parser?: Partial<MailParserOptions>;
  /** Wraps the parser, for tests that change its behaviour. */
  parse?: (parse: UnparsedDeps["parse"]) => UnparsedDeps["parse"];
  /** By default no sender is checked. */
  authenticate?: UnparsedDeps["authenticate"];
}

/** A header with which the parser of these tests never ends. */
export const spinning = "X-Parser: spin";

/** Receiving, from the listener to the workers, over a database; a test starts the workers. */
export async function reception(db: Database, options: ReceptionOptions = {}) {
  const outbox = await outboxWorld(db, options);
  const { deps } = outbox;
  const parser = mailParser({
    mailDomain: deps.mailDomain,
    command: [process.execPath, join(import.meta.dir, "../mail/read/fixtures/obedient-parser.ts")],
    ...options.parser,
  });
  const parse = options.parse?.(parser.parseQueued) ?? parser.parseQueued;
  const { authenticate = async () => undefined } = options;
  const file = mailReceiver(deps);
  const judging = { ...deps, rules: accountRules(deps), owners: inboxOwners(deps), quarantineDays: 30 };
  const receiving = { ...deps, parse, authenticate, receive: withJudgment(judging, file) };
  deps.receiveUnparsed = (...asked) => receiveUnparsed(receiving, ...asked);
  const maxBytes = 25 << 20;
  const key = await returnPathKey("k".repeat(32));
  const leaving = unsubscribing({ ...deps, names: unsubscribeNames(key, deps.mailDomain) });
  const reports = reportReception({
    ...deps,
    returnPaths: returnPaths(key, deps.mailDomain),
    applyReports: async (told) => told.map(() => "gone"),
  });
  const smtp = await startSmtp(
    smtpDoor(
      mailDoor({
        ...receiving,
        reports,
        unsubscribing: leaving,
        hosts: ownHosts(deps, false),
        operatorInbox: undefined,
      }),
    ),
    {
      host: "127.0.0.1",
      port: 0,
      hostname: "inbox.localhost",
      maxBytes,
      certificate: await testCertificate(),
      originOf,
      limits: { ...defaultLimits(maxBytes), maxConnectionsPerAddress: 200 },
      observe: {},
    },
  );
  return {
    ...outbox,
    port: smtp.port,
    release: mailReleaser({ ...deps, parse: parser.parse, file }),
    /** Starts the workers, which parse the kept mail. */
    async parseKept(): Promise<void> {
      await outbox.start();
      deps.nudge("parse");
    },
    async [Symbol.asyncDispose]() {
      await smtp.stop(0);
      await outbox.stop(0);
      parser.close();
    },
  };
}
