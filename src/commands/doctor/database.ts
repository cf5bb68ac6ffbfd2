import type { AdminRequest } from "../../control/administer.ts";
import { DataDirectoryInUse } from "../../database/db.ts";
import { findCluster } from "../../database/embedded-cluster.ts";
import { endOf } from "../../domain/partitions.ts";
import {
  type DatabaseFacts,
  diagnoseEmbedded,
  diagnosePostgres,
  directConnections,
  mostConnections,
  oldestPostgres,
  roleSettings as wantedOfRole,
} from "../../store/upkeep/diagnosis.ts";
import { type Finding, findingsOf } from "./finding.ts";
import type { Identity } from "./ports.ts";

export interface DatabaseQuestion {
  /** Whether the senders of mail from outside are authenticated. */
  isAuthenticating: boolean;
  databaseUrl: string | undefined;
  databaseDirectUrl?: string | undefined;
  dataDir: string;
  /** The processes that one start runs (PROCESSES). */
  processes: number;
  now: () => Date;
  /** Sends a request to the server that has opened the embedded database. */
  askServer: (request: AdminRequest) => Promise<object>;
}

export interface DatabaseDiagnosis {
  findings: Finding[];
  webhookUrls: string[];
  identity: Identity;
  /** Whether raw mail is in an object store. False if the database cannot be read. */
  hasSegments: boolean;
}

/** Checks that the database is reachable, recent enough, and durable. */
export async function checkDatabase(question: DatabaseQuestion): Promise<DatabaseDiagnosis> {
  const { databaseUrl, databaseDirectUrl, dataDir, now } = question;
  try {
    if (databaseUrl !== undefined) {
      return judged(
        question,
        await diagnosePostgres({ url: databaseUrl, directUrl: databaseDirectUrl, now }),
        "postgres",
      );
    }
    const found = findCluster(dataDir);
    if (found !== "there") {
      return { findings: [missing(found, dataDir)], webhookUrls: [], identity: "not started yet", hasSegments: false };
    }
    return judged(question, await diagnoseEmbedded(dataDir, now), "embedded");
  } catch (error) {
    if (error instanceof DataDirectoryInUse) return heldByServer(question);
    const finding = unusable(error, databaseUrl === undefined ? "embedded" : "postgres");
    return { findings: [finding], webhookUrls: [], identity: "unknown", hasSegments: false };
  }
}

/** Checks only that the server that has opened the embedded database answers. That server has updated the schema at its start. */
async function heldByServer({ dataDir, askServer }: DatabaseQuestion): Promise<DatabaseDiagnosis> {
  const { ok, warn } = findingsOf("database");
  try {
    const { url } = (await askServer({ operation: "webhook show", arguments: {} })) as { url: string | null };
    const { id } = (await askServer({ operation: "service id", arguments: {} })) as { id: string | null };
    return {
      findings: [ok(`embedded in ${dataDir}, opened by a running inboxd that answers`)],
      webhookUrls: url === null ? [] : [url],
      identity: id === null ? "unknown" : { id },
      hasSegments: false,
    };
  } catch {
    const seen = `embedded in ${dataDir}, opened by another process that does not answer`;
    const finding = warn(seen, "Wait until it has started or stopped, and run this again");
    return { findings: [finding], webhookUrls: [], identity: "unknown", hasSegments: false };
  }
}

function judged(
  { isAuthenticating, processes }: DatabaseQuestion,
  facts: DatabaseFacts,
  engine: "postgres" | "embedded",
): DatabaseDiagnosis {
  const checks = [checkServer, checkDurability, checkSchema];
  if (engine === "postgres") {
    checks.push(checkClock, (each) => checkConnections(each, processes), checkLog, checkDispatch);
    if (facts.roleSettings !== undefined) checks.push(checkRole);
  }
  const { webhookUrls, serviceId, hasSegments } = facts;
  const senders = isAuthenticating ? checkSenders(facts) : [];
  return {
    findings: [
      ...checks.map((check) => check(facts)),
      ...checkPartitions(facts, processes),
      ...checkDomains(facts),
      ...senders,
    ],
    webhookUrls,
    identity: serviceId === undefined ? "not started yet" : { id: serviceId },
    hasSegments,
  };
}

export function checkServer({ version, encoding, isInRecovery, isReadOnly }: DatabaseFacts): Finding {
  const { ok, fail } = findingsOf("database");
  const seen = `Postgres ${version}`;
  if (Number.parseInt(version, 10) < oldestPostgres) {
    return fail(seen, `Upgrade to Postgres ${oldestPostgres} or later`);
  }
  if (encoding !== "UTF8") return fail(`${seen}, encoding ${encoding}`, "Create the database with encoding UTF8");
  if (isInRecovery) return fail(`${seen}, a read-only standby`, "Set DATABASE_URL to the primary");
  if (isReadOnly) {
    const todo = "Turn default_transaction_read_only off: check the settings of the server, the database and the role";
    return fail(`${seen}, set to read-only`, todo);
  }
  return ok(seen);
}

/** Checks the settings that keep the promise of a 250 or a 200: the mail is on disk. */
export function checkDurability({ synchronousCommit, fsync, fullPageWrites }: DatabaseFacts): Finding {
  const { ok, fail } = findingsOf("database durability");
  const settings = { synchronous_commit: synchronousCommit, fsync, full_page_writes: fullPageWrites };
  const off = Object.entries(settings).filter(([, value]) => value === "off");
  const seen = Object.entries(settings)
    .map(([name, value]) => `${name}=${value}`)
    .join(", ");
  if (off.length === 0) return ok(seen);
  return fail(
    `${seen}: mail that was acknowledged can be lost`,
    `${off.map(([name]) => `ALTER SYSTEM SET ${name} = on;`).join(" ")} SELECT pg_reload_conf(); and check the settings of the role and the database`,
  );
}

export function checkSchema({ stepsToDo, unknownSteps, refusedStep }: DatabaseFacts): Finding {
  const { ok, warn, fail } = findingsOf("database schema");
  if (unknownSteps.length > 0) {
    const seen = `newer than this inboxd: it has ${unknownSteps.join(", ")}`;
    if (refusedStep !== undefined) return fail(seen, "Run the version that wrote it, or a later one");
    return warn(`${seen}, with which this version runs`, "Finish the upgrade, or the way back, on all machines");
  }
  if (stepsToDo.length > 0) {
    return warn(`pending steps: ${stepsToDo.join(", ")}`, "The next start runs them. To run them now: inboxd migrate");
  }
  return ok("up to date");
}

/**
 * Compares the database's clock with that of this machine. Limits, retries and leases use it, and receivers compare the times in signatures
 * and links with their own clock.
 */
export function checkClock({ serverAt, askedAt }: DatabaseFacts): Finding {
  const { ok, warn } = findingsOf("database clock");
  const skewMs = Math.round(serverAt.getTime() - askedAt.getTime());
  const seen = `${Math.abs(skewMs)} ms ${skewMs < 0 ? "behind" : "ahead of"} this machine's`;
  return Math.abs(skewMs) < mostSkewMs ? ok(seen) : warn(seen, "Run a time service (NTP) on both machines");
}

const mostSkewMs = 2_000;

/** Compares the connections of the database with those of all processes of one start. A second service, or a restart beside it, needs as many. */
export function checkConnections({ connections, roleSettings }: DatabaseFacts, processes: number): Finding {
  const { ok, warn, fail } = findingsOf("database connections");
  const isPooled = roleSettings !== undefined;
  const ofOne = isPooled ? directConnections : mostConnections;
  const most = processes * ofOne;
  const which = processes === 1 ? "one inboxd uses" : `the ${processes} processes of one inboxd use`;
  const seen = `max_connections is ${connections}, and ${which} up to ${most}${isPooled ? " beside the pooler" : ""}`;
  const todo = `Set max_connections to ${ofOne} for each process, and some for ${isPooled ? "the pooler and " : ""}other clients`;
  if (connections < most) return fail(seen, todo);
  const enough = processes === 1 ? "one process" : "them alone";
  return connections < most + ofOne ? warn(`${seen}: enough for ${enough}`, todo) : ok(seen);
}

/** Compares the settings that sessions have behind a pooler with those that inboxd sets in its own. A shorter time-out is right too. */
export function checkRole({ roleSettings = [] }: DatabaseFacts): Finding {
  const { ok, warn } = findingsOf("database role");
  const wrong = roleSettings.filter(({ name, value }) => {
    const wanted = wantedOfRole[name];
    return typeof wanted === "number" ? Number(value) < 1 || Number(value) > wanted : value !== wanted;
  });
  if (wrong.length === 0) return ok("has the settings that a session needs behind a pooler");
  return warn(
    `behind a pooler inboxd cannot set ${wrong.map(({ name, value }) => `${name}, which is ${value}`).join("; ")}`,
    wrong
      .map(
        ({ role, database, name }) =>
          `ALTER ROLE ${named(role)} IN DATABASE ${named(database)} SET ${name} = '${wantedOfRole[name]}';`,
      )
      .join(" "),
  );
}

/** A name as SQL spells it. */
const named = (name: string) => `"${name.replaceAll('"', '""')}"`;

/**
 * Checks how far the event log is behind. It shows no event that is newer than the oldest open transaction with writes, in any database of
 * the Postgres server.
 */
export function checkLog({ logLagSeconds }: DatabaseFacts): Finding {
  const { ok, warn } = findingsOf("event log");
  if (logLagSeconds <= mostLagSeconds) return ok("up to date");
  return warn(
    `behind by ${Math.round(logLagSeconds)} s: log and streams wait for an older transaction of this Postgres`,
    "Find it: SELECT pid, datname, xact_start, query FROM pg_stat_activity WHERE backend_xid IS NOT NULL ORDER BY xact_start",
  );
}

const mostLagSeconds = 5;

/** Checks whether scheduled mail is sent when it is due. A mail that a limit delays is due again later. */
export function checkDispatch({ dispatchLagSeconds }: DatabaseFacts): Finding {
  const { ok, warn } = findingsOf("scheduled mail");
  if (dispatchLagSeconds <= mostLateSeconds) return ok("none is late");
  return warn(
    `has been due for ${Math.round(dispatchLagSeconds)} s, and is not sent`,
    'Start the service, which sends it at once; if it runs, look for "drafts not dispatched" in its log',
  );
}

const mostLateSeconds = 30;

/**
 * Checks that partitioned tables have partitions for new rows for some time, and that Postgres has room for the locks of all partitions: a
 * statement that does not find them all fails. Without partitions it is silent.
 */
export function checkPartitions({ partitioning, serverAt }: DatabaseFacts, processes: number): Finding[] {
  const { ok, warn, fail } = findingsOf("partitions");
  const { partitions, bounded, relations, locks, locksEach } = partitioning;
  const found = bounded.map((table) =>
    warn(
      `the partitioning of ${table} has not ended, and new rows are refused from some day on`,
      `Wait for "inboxd partition"; if it has ended, the service removes the constraint ${table}_partition_bound in an hour`,
    ),
  );
  if (partitions.size === 0) return found;
  const [end = serverAt] = Array.from(partitions.values(), endOf).toSorted((one, other) => Number(one) - Number(other));
  const leftMs = end.getTime() - serverAt.getTime();
  const last = end.toISOString();
  const todo = 'Start the service, which adds more; if it runs, look for "partitions not changed" in its log';
  if (leftMs <= 0) found.push(fail(`there is none for new rows since ${last}: mail is refused`, todo));
  else if (leftMs < dayMs) found.push(warn(`they end at ${last}`, todo));
  if (partitions.has("events") !== partitions.has("deliveries")) {
    found.push(
      warn("only one of events and deliveries has them, so none is dropped", "Run inboxd partition events again"),
    );
  }
  // Two sessions that lock one table count as one lock: Postgres has room for twice as many holders as locks.
  const needed = Math.ceil((relations * processes * mostConnections) / 2);
  if (needed > locks) {
    const enough = Math.ceil((locksEach * needed) / locks);
    found.push(
      warn(
        `${relations} tables and indexes may need ${needed} locks, and Postgres has room for ${locks}`,
        `Set max_locks_per_transaction to ${enough} and restart Postgres`,
      ),
    );
  }
  return found.length > 0 ? found : [ok(`${Array.from(partitions.keys()).join(", ")}, until ${last}`)];
}

const dayMs = 86_400_000;

/** Reports the own domains that fail, and those whose mail goes to another server, by their last checks. Without domains it is silent. */
export function checkDomains({ domains: { proven, failing, elsewhere } }: DatabaseFacts): Finding[] {
  const { ok, warn } = findingsOf("domains");
  if (proven === 0) return [];
  const found: Finding[] = [];
  if (failing.length > 0) {
    const todo = "Publish their DKIM records again: GET /v1/domains shows them, and until when";
    found.push(warn(`their DKIM records are gone, and they will fail: ${failing.join(", ")}`, todo));
  }
  if (elsewhere.length > 0) {
    const todo = "Publish their MX records, or ignore this for domains that only send";
    found.push(warn(`mail to their inboxes goes to another server by MX: ${elsewhere.join(", ")}`, todo));
  }
  return found.length > 0 ? found : [ok(`${proven} verified, and their mail comes here`)];
}

/** With fewer mails, one address says nothing. */
const manyMails = 20;

/** Checks that the addresses of senders are seen. A balancer in front hides them, and then SPF says nothing, or is wrong. */
export function checkSenders({ senders: { mails, checked, addresses } }: DatabaseFacts): Finding[] {
  const { ok, warn } = findingsOf("mail senders");
  if (mails < manyMails) return [];
  const todo =
    "If a balancer delivers them: name it in TRUSTED_PROXIES, have it send the PROXY protocol, and set SMTP_PROXY_PROTOCOL=1. " +
    "If a mail server does: name it in TRUSTED_RELAYS";
  if (checked === 0) {
    return [warn(`none of the last ${mails} mails was authenticated: they all came from private addresses`, todo)];
  }
  const [address, ...others] = addresses;
  if (others.length > 0 || checked < manyMails) return [ok(`the last ${mails} mails came from several addresses`)];
  if (address === null) return [warn(`the addresses of the senders of the last ${checked} mails are unknown`, todo)];
  return [warn(`the last ${checked} mails all came from ${address}`, todo)];
}

function missing(found: "none" | "lost", dataDir: string): Finding {
  const { ok, fail } = findingsOf("database");
  if (found === "none") return ok(`none yet: the first start creates an embedded one in ${dataDir}`);
  return fail(
    `the embedded one is missing in ${dataDir}, which was used before`,
    "Restore it from a backup, or set DATA_DIR to an empty directory for a new one",
  );
}

function unusable(error: unknown, engine: "postgres" | "embedded"): Finding {
  const seen = error instanceof Error ? error.message : String(error);
  const todo = {
    postgres: "Check that it runs, and that DATABASE_URL has the right address, database, user and password",
    embedded: "Check DATA_DIR; you can restore a backup of it, or an export",
  };
  return findingsOf("database").fail(seen, todo[engine]);
}
