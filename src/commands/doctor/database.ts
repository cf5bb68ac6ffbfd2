import type { AdminRequest } from "../../control/administer.ts";
import { DataDirectoryInUse } from "../../database/db.ts";
import { findCluster } from "../../database/embedded-cluster.ts";
import {
  type DatabaseFacts,
  diagnoseEmbedded,
  diagnosePostgres,
  mostConnections,
  oldestPostgres,
} from "../../store/upkeep/diagnosis.ts";
import { type Finding, findingsOf } from "./finding.ts";
import type { Identity } from "./ports.ts";

export interface DatabaseQuestion {
  databaseUrl: string | undefined;
  dataDir: string;
  now: () => Date;
  /** Asks the server that holds the embedded database. */
  askServer: (request: AdminRequest) => Promise<object>;
}

export interface DatabaseDiagnosis {
  findings: Finding[];
  webhookUrls: string[];
  identity: Identity;
}

/** Whether the database is there, new enough, and keeps what it was given. */
export async function checkDatabase(question: DatabaseQuestion): Promise<DatabaseDiagnosis> {
  const { databaseUrl, dataDir, now } = question;
  try {
    if (databaseUrl !== undefined) return judged(await diagnosePostgres(databaseUrl, now), "postgres");
    const found = findCluster(dataDir);
    if (found !== "there") {
      return { findings: [missing(found, dataDir)], webhookUrls: [], identity: "not started yet" };
    }
    return judged(await diagnoseEmbedded(dataDir, now), "embedded");
  } catch (error) {
    if (error instanceof DataDirectoryInUse) return heldByServer(question);
    const finding = unusable(error, databaseUrl === undefined ? "embedded" : "postgres");
    return { findings: [finding], webhookUrls: [], identity: "unknown" };
  }
}

/**
 * The server that holds the embedded database is of its version and brought its schema up to date when it started; all
 * there is to ask is whether it answers.
 */
async function heldByServer({ dataDir, askServer }: DatabaseQuestion): Promise<DatabaseDiagnosis> {
  const { ok, warn } = findingsOf("database");
  try {
    const { url } = (await askServer({ operation: "webhook show", arguments: {} })) as { url: string | null };
    // One of an older version doesn't know it.
    const { id } = (await askServer({ operation: "service id", arguments: {} }).catch(() => ({ id: null }))) as {
      id: string | null;
    };
    return {
      findings: [ok(`embedded in ${dataDir}, held by a running inboxd that answers`)],
      webhookUrls: url === null ? [] : [url],
      identity: id === null ? "unknown" : { id },
    };
  } catch {
    const seen = `embedded in ${dataDir}, held by another process that doesn't answer`;
    const finding = warn(seen, "Wait until it has started or stopped, then ask again");
    return { findings: [finding], webhookUrls: [], identity: "unknown" };
  }
}

function judged(facts: DatabaseFacts, engine: "postgres" | "embedded"): DatabaseDiagnosis {
  const checks = [checkServer, checkDurability, checkSchema];
  if (engine === "postgres") checks.push(checkClock, checkConnections, checkLog);
  const { webhookUrls, serviceId } = facts;
  return {
    findings: checks.map((check) => check(facts)),
    webhookUrls,
    identity: serviceId === undefined ? "not started yet" : { id: serviceId },
  };
}

export function checkServer({ version, encoding, isInRecovery, isReadOnly }: DatabaseFacts): Finding {
  const { ok, fail } = findingsOf("database");
  const seen = `Postgres ${version}`;
  if (Number.parseInt(version, 10) < oldestPostgres) {
    return fail(seen, `Move to Postgres ${oldestPostgres} or later`);
  }
  if (encoding !== "UTF8") return fail(`${seen}, encoding ${encoding}`, "Make the database with encoding UTF8");
  if (isInRecovery) return fail(`${seen}, a standby that can't be written to`, "Name the primary in DATABASE_URL");
  if (isReadOnly) {
    const todo = "Turn default_transaction_read_only off: look at the server's settings, the database's and the role's";
    return fail(`${seen}, set to take no writes`, todo);
  }
  return ok(seen);
}

/** A 250 and a 200 promise that the mail is on disk; these settings decide whether that is true. */
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
    `${off.map(([name]) => `ALTER SYSTEM SET ${name} = on;`).join(" ")} SELECT pg_reload_conf(); and look for settings of the role and the database`,
  );
}

export function checkSchema({ stepsToDo, unknownSteps }: DatabaseFacts): Finding {
  const { ok, warn, fail } = findingsOf("database schema");
  if (unknownSteps.length > 0) {
    const seen = `newer than this inboxd: it has ${unknownSteps.join(", ")}`;
    return fail(seen, "Run the version that made it, or a later one");
  }
  if (stepsToDo.length > 0) {
    return warn(`steps to do: ${stepsToDo.join(", ")}`, "They are done at the next start, or now by: inboxd migrate");
  }
  return ok("up to date");
}

/** Limits, retries and leases go by the database's clock. Receivers hold its instants, in signatures and links, against their own. */
export function checkClock({ serverAt, askedAt }: DatabaseFacts): Finding {
  const { ok, warn } = findingsOf("database clock");
  const skewMs = Math.round(serverAt.getTime() - askedAt.getTime());
  const seen = `${Math.abs(skewMs)} ms ${skewMs < 0 ? "behind" : "ahead of"} this machine's`;
  return Math.abs(skewMs) < mostSkewMs ? ok(seen) : warn(seen, "Run a time service (NTP) on both machines");
}

const mostSkewMs = 2_000;

export function checkConnections({ connections }: DatabaseFacts): Finding {
  const { ok, warn, fail } = findingsOf("database connections");
  const seen = `${connections} for all, and one inboxd takes up to ${mostConnections}`;
  const todo = `Set max_connections to ${mostConnections} for each process and some for everybody else`;
  if (connections < mostConnections) return fail(seen, todo);
  return connections < 2 * mostConnections ? warn(`${seen}: there is room for one process`, todo) : ok(seen);
}

/** The log shows no event that is newer than the oldest transaction that still writes, in whatever database of the server. */
export function checkLog({ logLagSeconds }: DatabaseFacts): Finding {
  const { ok, warn } = findingsOf("event log");
  if (logLagSeconds <= mostLagSeconds) return ok("up to date");
  return warn(
    `behind by ${Math.round(logLagSeconds)} s: log and streams wait for an older transaction of this Postgres`,
    "Find it: SELECT pid, datname, xact_start, query FROM pg_stat_activity WHERE backend_xid IS NOT NULL ORDER BY xact_start",
  );
}

const mostLagSeconds = 5;

function missing(found: "none" | "lost", dataDir: string): Finding {
  const { ok, fail } = findingsOf("database");
  if (found === "none") return ok(`none yet: the first start makes an embedded one in ${dataDir}`);
  return fail(
    `the embedded one is gone from ${dataDir}, which was in use before`,
    "Put it back from a backup, or set DATA_DIR to an empty directory to begin anew",
  );
}

function unusable(error: unknown, engine: "postgres" | "embedded"): Finding {
  const seen = error instanceof Error ? error.message : String(error);
  const todo = {
    postgres: "Look whether it runs, and whether DATABASE_URL has its address, database, user and password",
    embedded: "Look at DATA_DIR; a backup of it, or of inboxd export, can take its place",
  };
  return findingsOf("database").fail(seen, todo[engine]);
}
