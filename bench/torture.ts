/**
 * `bun run torture [--minutes N] [--seed S] [--database embedded|postgres|patroni] [--processes N] [--pooled] [--partition]`: the
 * whole service under load and faults, held against a ledger that is kept outside of it. With `patroni`, two Postgres behind a
 * HAProxy take over from each other, every `--failover-seconds` (30); `--pooled` puts a PgBouncer before the database, `--partition`
 * partitions the tables of a Postgres meanwhile. `--self-test` does the same to services that are broken on purpose, each of which
 * must be caught (`--only` those whose file begins so); `--entry` to any other program that starts a service, without retention and
 * erasure, which take days there. `PROCESSES=2` in the environment gives each service two processes at its ports.
 */
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { leaveNothing } from "../scripts/leave-nothing.ts";
import { hasPatroni } from "../tests/support/patroni.ts";
import { hasPgBouncer } from "../tests/support/pgbouncer.ts";
import type { ServiceFault } from "./torture/faults.ts";
import { hurriedEntry } from "./torture/fleet.ts";
import type { Ledger } from "./torture/ledger.ts";
import { longestSettleMs, torture } from "./torture/run.ts";

leaveNothing();
const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "1" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    database: { type: "string", default: "embedded" },
    processes: { type: "string", default: "1" },
    "failover-seconds": { type: "string", default: "30" },
    pooled: { type: "boolean", default: false },
    entry: { type: "string", default: hurriedEntry },
    partition: { type: "boolean", default: false },
    "self-test": { type: "boolean", default: false },
    only: { type: "string", default: "" },
  },
});
const seconds = positive("minutes") * 60;
const seed = positive("seed");
const processes = positive("processes");
const failoverEveryMs = positive("failover-seconds") * 1000;
const databases = ["embedded", "postgres", "patroni"] as const;
const database =
  databases.find((name) => name === values.database) ?? refuse("--database must be embedded, postgres or patroni");
if (database === "patroni" && !hasPatroni) refuse("patroni, etcd or haproxy is not here");
const isPooled = values.pooled;
if (database === "embedded" && processes > 1) refuse("the embedded database belongs to one process");
if (database === "embedded" && isPooled) refuse("--pooled needs another database");
if (isPooled && !hasPgBouncer) refuse("pgbouncer is not here");
const isPartitioned = values.partition;
if (database === "embedded" && isPartitioned) refuse("the embedded database has no partitions");

process.exit(values["self-test"] ? await selfTest() : await once(resolve(values.entry)));

async function once(entry: string): Promise<number> {
  console.log(
    `torture: ${seconds} s, ${database}${isPooled ? " (pooled)" : ""}, ${processes} process(es), seed ${seed}`,
  );
  // Another program does what is due in days in days.
  const worksEarly = entry === hurriedEntry;
  const ledger = await torture({
    seconds,
    seed,
    database,
    failoverEveryMs,
    processes,
    isPooled,
    isPartitioned,
    entry,
    worksEarly,
    settleMs: longestSettleMs,
  });
  for (const [what, count] of [...ledger.counts].sort()) console.log(`${String(count).padStart(9)}  ${what}`);
  const cluster = database === "patroni" ? ` --failover-seconds ${values["failover-seconds"]}` : "";
  const options = `${cluster}${isPooled ? " --pooled" : ""}${isPartitioned ? " --partition" : ""}`;
  const repeat = `bun run torture --minutes ${values.minutes} --database ${database} --processes ${processes}${options} --seed ${seed}`;
  tell(ledger, `; repeat with ${repeat}`);
  const count = violationsOf(ledger);
  console.log(`\n${count} violations`);
  return count === 0 ? 0 : 1;
}

/** Checks that the ledger finds faults. */
async function selfTest(): Promise<number> {
  // A fault that takes longer to show, as all do on a busy machine, has a second run.
  const secondsOfRuns = [25, 120];
  const sabotages: { name: string; file: string; faults: readonly ServiceFault[]; evidence: RegExp }[] = [
    {
      name: "answers 250 before the commit",
      file: "early-answer.ts",
      faults: ["kill"],
      evidence: /answered 250, is in \S+ 0 times/,
    },
    {
      name: "answers a post with 200 before the commit",
      file: "early-post.ts",
      faults: ["kill"],
      evidence: /answered 250, is in \S+ 0 times/,
    },
    {
      name: "believes a forged sender",
      file: "believed-sender.ts",
      faults: [],
      evidence: /the verdict about \S+ is pass, not fail or temperror/,
    },
    {
      name: "drops what a rule blocks",
      file: "dropped-mail.ts",
      faults: [],
      evidence: /answered 250, is neither a message nor in quarantine/,
    },
    {
      name: "loses quarantined mail",
      file: "brief-quarantine.ts",
      faults: [],
      evidence: /answered 250, is neither a message nor in quarantine/,
    },
    {
      name: "files a mail twice that is released twice",
      file: "twice-released.ts",
      faults: [],
      evidence: /is 2 messages and 1 mails in quarantine|was released as msg_\w+,msg_\w+/,
    },
    {
      name: "takes mail of a blocked sender",
      file: "unblocked-sender.ts",
      faults: [],
      evidence: /came while its sender was blocked, and is a message/,
    },
    {
      name: "takes mail that an inbox refuses",
      file: "taken-refusal.ts",
      faults: [],
      evidence: /came while its inbox refused it, and was answered 250/,
    },
    {
      name: "keeps mail that it refuses",
      file: "kept-refusal.ts",
      faults: [],
      evidence: /was refused, and is there/,
    },
    {
      name: "says sent before the relay did",
      file: "early-sent.ts",
      faults: [],
      evidence: /is sent, and the relay never said 250/,
    },
    {
      name: "forgets an endpoint",
      file: "forgotten-endpoint.ts",
      faults: [],
      evidence: /at the late endpoint of \S+ was never delivered \(0 attempts\)/,
    },
    {
      name: "tells an endpoint twice",
      file: "told-twice.ts",
      faults: [],
      evidence: /was answered at attempt \d+ of \d+, with no fault near it/,
    },
    {
      name: "leaves an event out where a stream goes on",
      file: "skipping-stream.ts",
      faults: ["kill"],
      evidence: /the (steady )?stream .* leaves evt_\w+ out/,
    },
    {
      name: "loses a mail that somebody waits for",
      file: "forgetful-wait.ts",
      faults: [],
      evidence: /who waited for mail of \S+ leaves msg_\w+ out/,
    },
    {
      name: "forgets a report",
      file: "forgotten-report.ts",
      faults: [],
      evidence: /the report .*, answered 250, is not there/,
    },
    {
      name: "sends again to who has it when it was a partial answer",
      file: "partly-again.ts",
      faults: [],
      evidence: /was offered to the relay again after its 250/,
    },
    {
      name: "loses a share of a file",
      file: "lost-share.ts",
      faults: [],
      evidence: /a source has not as many shares as there are who hold it/,
    },
    {
      name: "counts a mail twice",
      file: "counted-twice.ts",
      faults: [],
      evidence: /the usage of an inbox is not its mail/,
    },
    {
      name: "lets two agents answer one mail",
      file: "both-answer.ts",
      faults: [],
      evidence: /was sent if unanswered, and msg_\w+ had answered before it/,
    },
    {
      name: "lets a revoked key go on",
      file: "revived-key.ts",
      faults: [],
      evidence: /key_\w+ has ended, and was answered 200/,
    },
    {
      name: "refuses a key that lives",
      file: "refused-key.ts",
      faults: [],
      evidence: /key_\w+ lives, and was refused/,
    },
    {
      name: "opens the whole account to the key of an inbox",
      file: "wide-key.ts",
      faults: [],
      evidence: /key_\w+ was answered 200 about mail of \S+, not 404/,
    },
    {
      name: "forgets a suspension",
      file: "forgotten-suspension.ts",
      faults: [],
      evidence: /was answered \d+ while it was suspended/,
    },
    {
      name: "sends the mail of a suspended account",
      file: "sending-all-the-same.ts",
      faults: [],
      evidence: /was offered to the relay while suspended was suspended/,
    },
    {
      name: "loses mail that waits for the end of a suspension",
      file: "emptied-suspension.ts",
      faults: [],
      evidence: /is pending, and nothing will be done about it/,
    },
    {
      name: "removes mail too early",
      file: "early-removal.ts",
      faults: [],
      evidence: /was removed from inb_\w+ before it was due/,
    },
    {
      name: "never removes mail",
      file: "kept-for-ever.ts",
      faults: [],
      evidence: /has mail that was due/,
    },
    {
      name: "miscounts what a removal leaves",
      file: "miscounted-removal.ts",
      faults: [],
      evidence: /after a removal, an inbox miscounts its threads/,
    },
    {
      name: "takes removed mail out of the usage",
      file: "uncounted-removal.ts",
      faults: [],
      evidence: /got \d+ to \d+ mails, and its usage says \d+/,
    },
    {
      name: "stores deleted mail again",
      file: "returning-mail.ts",
      faults: [],
      evidence: /was deleted, and is listed in inb_\w+ again/,
    },
    {
      name: "leaves words of deleted mail",
      file: "left-words.ts",
      faults: [],
      evidence: /was deleted, and message_search has words of it/,
    },
    {
      name: "leaves rows of an erased inbox",
      file: "left-rows.ts",
      faults: [],
      evidence: /was erased, and threads has \d+ rows of it/,
    },
    {
      name: "writes down twice that an inbox is erased",
      file: "erased-twice.ts",
      faults: [],
      evidence: /was erased, and the audit says so 2 times/,
    },
    {
      name: "gives mail for a domain that has moved to its old inbox",
      file: "old-holder.ts",
      faults: [],
      evidence: /came after \S+ had moved, and is in the old inbox/,
    },
    {
      name: "refuses mail for a domain whose proof is missed for the first time",
      file: "hasty-domain.ts",
      faults: [],
      evidence: /was refused while \S+ was proven/,
    },
    {
      name: "takes the time of grace from a domain whose proof is gone",
      file: "graceless-domain.ts",
      faults: [],
      evidence: /was refused while \S+ was proven/,
    },
    {
      name: "loses what is sent from a domain that is not proven any more",
      file: "lying-domain.ts",
      faults: [],
      evidence: /was answered with msg_never, and is nothing/,
    },
    {
      name: "sends a mail that was canceled",
      file: "canceled-all-the-same.ts",
      faults: [],
      evidence: /msg_\w+ was canceled with 20\d, and is/,
    },
    {
      name: "sends a mail before its time",
      file: "too-early.ts",
      faults: [],
      evidence: /was sent \d+ ms before its time/,
    },
    {
      name: "sends mail that nobody approved",
      file: "nobody-approved.ts",
      faults: [],
      evidence: /was sent Infinity ms before its time|was (waiting|rejected|canceled), and the relay took it/,
    },
    {
      name: "sends a version that nobody approved",
      file: "approved-unread.ts",
      faults: [],
      evidence: /has a version that nobody approved|was sent with text \d+, not \d+/,
    },
    { name: "forgets the lease", file: "no-lease.ts", faults: ["kill"], evidence: /longer than any lease/ },
  ];
  let missed = 0;
  for (const { name, file, faults, evidence } of sabotages.filter((each) => each.file.startsWith(values.only))) {
    const entry = join(import.meta.dir, "torture/broken", file);
    let found: string | undefined;
    for (const seconds of secondsOfRuns) {
      const ledger = await torture({
        seconds,
        seed,
        database,
        failoverEveryMs,
        processes,
        isPooled,
        entry,
        worksEarly: true,
        settleMs: 5000,
        faults,
      });
      found = [...ledger.violations.values()].flat().find((sample) => evidence.test(sample));
      if (found !== undefined) break;
    }
    if (found === undefined) missed += 1;
    console.log(`${found === undefined ? "MISSED" : "caught"}: a service that ${name}: ${found ?? "not seen"}`);
  }
  return missed === 0 ? 0 : 1;
}

function tell(ledger: Ledger, ending: string): void {
  for (const [invariant, samples] of ledger.violations) {
    for (const sample of samples.slice(0, 5)) console.log(`violation: ${invariant} ${sample}${ending}`);
  }
}

function violationsOf(ledger: Ledger): number {
  return [...ledger.violations.keys()].reduce((sum, name) => sum + (ledger.counts.get(`violation ${name}`) ?? 0), 0);
}

function positive(name: "minutes" | "seed" | "processes" | "failover-seconds"): number {
  const value = Number(values[name]);
  if (!(value > 0)) refuse(`--${name} must be a number above 0`);
  return value;
}

function refuse(why: string): never {
  console.error(`Cannot torture: ${why}`);
  process.exit(2);
}
