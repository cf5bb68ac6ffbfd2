import { type Db, StatementFailed, transaction } from "../../database/db.ts";
import { commandLine } from "../../domain/access/actor.ts";
import { Refusal } from "../../domain/errors.ts";
import { signalToForget } from "../../store/channels.ts";
import { raiseEventLog } from "../../store/events/event-log.ts";
import { unlessHeld } from "../../store/locks.ts";
import { openingTableNames, sharedTableName } from "../../store/upkeep/account-rows.ts";
import { listCollisions, listSharedDomains } from "../../store/upkeep/collisions.ts";
import {
  deleteLine,
  forgetIndexedMail,
  insertLine,
  insertNewLine,
  type PortableLine,
} from "../../store/upkeep/portable.ts";
import { findSetting, insertOrChangeSetting, removeSetting } from "../../store/upkeep/settings.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";
import { checkWhole, damaged, type OpenExport, portableLines } from "./export-file.ts";
import type { Imported } from "./import-everything.ts";
import { type DomainIds, factsOf, type MovedAccount, movedLine } from "./moved-account.ts";

export type ImportDeps = Pick<Deps, "db" | "now" | "newId" | "sealing" | "mailDomain">;

/** The task of an import: to write the file, to write it ahead of the move, or to delete what was written of it. */
export type ImportTask = "import" | "ahead" | "undo";

/**
 * Imports the export of one account into a service that has others.
 *
 * First come the rows that nobody reaches without an inbox of the account, such as its mail: each line in one transaction, which also stores
 * the number of the line, so that an interrupted import can be continued. One long transaction would hold back the events of all accounts.
 * Then one transaction writes the account, its keys, inboxes, addresses and outbox. So the account is there whole or not at all. If the
 * import fails, the rows that it has written are deleted.
 *
 * An import ahead ends before that last transaction, so a large account is imported while the other service still serves it. The import of
 * what has changed since completes it. If that one fails, everything stays as far as it has come.
 */
export async function importAccount(
  deps: ImportDeps,
  open: OpenExport,
  task: ImportTask = "import",
): Promise<Imported> {
  const file = await readFacts(deps, open);
  if (file.account.ownDomains.includes(deps.mailDomain.toLowerCase())) {
    throw refused(`its own domain ${deps.mailDomain} is the MAIL_DOMAIN of this service`);
  }
  return deps.db.maintain(async (own) => {
    const imported = await unlessHeld(own, "importing", () => importAlone(deps, own, { ...file, open, task }));
    if (imported === undefined) throw refused("another import of an account is running");
    return imported;
  });
}

interface MovedFile {
  account: MovedAccount;
  exportId: string;
  /** The export that was imported ahead, if this one has only what has changed since. */
  after: string | undefined;
}

async function readFacts({ sealing }: ImportDeps, open: OpenExport): Promise<MovedFile> {
  let found: ReturnType<typeof factsOf> | undefined;
  const {
    id: exportId,
    account,
    after,
  } = await checkWhole(open(), (line, header) => {
    if (header.account !== undefined) {
      found ??= factsOf(header.account, sealing.opens);
      found.take(line);
    }
  });
  if (account === undefined) {
    throw new Refusal(
      "validation_error",
      "Cannot import: the file is the export of a whole service; import it without --beside, into an empty database",
    );
  }
  if (found === undefined) throw damaged("it has no account");
  return { account: found.facts(), exportId, after };
}

/** How far the import of an account has come. The database keeps it, so that the same file continues it. */
interface Progress {
  exportId: string;
  /** The lines that are written. */
  lines: number;
  /** `written`: all lines but those that open the account. */
  state: "writing" | "written" | "undoing";
  /** The lowest id of a message that was imported; undefined without messages. */
  firstMessageId?: string | undefined;
  /** The import ahead that this one completes. */
  ahead?: Progress | undefined;
}

async function importAlone(
  deps: ImportDeps,
  own: Db,
  { account, exportId, after, open, task }: MovedFile & { open: OpenExport; task: ImportTask },
): Promise<Imported> {
  const mark = `import of ${account.id}`;
  const found = progressOf(await findSetting(own, mark));
  const begun = found?.exportId === exportId ? found : undefined;
  const isNext = found?.state === "written" && found.exportId === after;
  if (found !== undefined && begun === undefined && !isNext) {
    throw refused("an import of this account from another file was begun; import that file first");
  }
  const ahead = isNext ? found : begun?.ahead;
  if (after !== undefined && ahead === undefined) {
    throw refused("it has only what has changed since another export; import that one first, with --ahead");
  }

  async function* linesBehind(): AsyncGenerator<PortableLine> {
    // The rows that are gone come last in the file. They are deleted first, since a new row may be in the place of one.
    for (const isGone of after === undefined ? [false] : [true, false]) {
      for await (const line of movedLines(open, account, new Map(), (table) => !openingTableNames.has(table))) {
        if ((line.gone === true) === isGone) yield line;
      }
    }
  }

  const store = (tx: Db, progress: Progress) => insertOrChangeSetting(tx, mark, JSON.stringify(progress));

  /** Deletes the rows that were written. Those that were deleted do not come back, so an import ahead has to be undone as well. */
  async function undo(progress: Progress): Promise<void> {
    await store(own, { ...progress, state: "undoing" });
    let number = 0;
    for await (const line of linesBehind()) {
      number += 1;
      if (number > progress.lines) break;
      if (!line.gone) await deleteLine(own, line);
    }
    if (progress.ahead === undefined) await removeSetting(own, mark);
    else await store(own, { ...progress.ahead, state: "undoing" });
  }

  if (task === "undo" && begun === undefined) throw refused("nothing of this file is imported, or all of it");
  if (begun !== undefined && (task === "undo" || begun.state === "undoing")) {
    await undo(begun);
    if (task === "undo") return { rows: account.rows, resumedAfter: 0 };
    if (ahead !== undefined) throw refused("its import was undone; import the export before it again");
  }
  let progress: Progress =
    begun !== undefined && begun.state !== "undoing"
      ? begun
      : {
          exportId,
          lines: 0,
          state: "writing",
          firstMessageId: firstOf(ahead?.firstMessageId, account.firstMessageId),
          ahead,
        };
  const done = progress.lines;
  let number = 0;
  let resumedAfter = 0;
  try {
    await refuseCollisions(own, open);
    const domainIds = await domainIdsHere(own, account);
    for await (const line of linesBehind()) {
      number += 1;
      if (number <= done) {
        resumedAfter += line.rows.length;
        continue;
      }
      const reached = { ...progress, lines: number };
      await transaction(own, async (tx) => {
        // A changed row replaces one. Meanwhile this service may have removed that one, or added up days of usage to one row.
        if (ahead !== undefined) await deleteLine(tx, line);
        if (!line.gone) await insertNewLine(tx, line);
        await store(tx, reached);
      });
      progress = reached;
    }
    if (account.lastPosition !== undefined) await raiseEventLog(deps.db, account.lastPosition);
    if (task === "ahead") await store(own, { ...progress, state: "written" });
    else {
      await openAccount(deps, own, { ...account, firstMessageId: progress.firstMessageId }, mark, () =>
        movedLines(open, account, domainIds, (table) => openingTableNames.has(table)),
      );
    }
  } catch (error) {
    if (progress.lines > 0 && ahead === undefined) await undo(progress);
    throw isDuplicate(error) ? refused("this service has some of its rows already") : error;
  }
  return { rows: account.rows, resumedAfter };
}

function firstOf(one: string | undefined, other: string | undefined): string | undefined {
  return one === undefined || (other !== undefined && other < one) ? other : one;
}

/** Writes the rows that open the account, in one transaction. */
async function openAccount(
  deps: ImportDeps,
  own: Db,
  { id, rows, firstMessageId }: MovedAccount,
  mark: string,
  lines: () => AsyncIterable<PortableLine>,
): Promise<void> {
  await transaction(own, async (tx) => {
    for await (const line of lines()) await (line.table === sharedTableName ? insertLine : insertNewLine)(tx, line);
    const target = { type: "account", id } as const;
    const imported = {
      action: "account.imported",
      accountId: id,
      actor: commandLine,
      target,
      details: { rows },
    } as const;
    await audit(tx, deps, deps.now(), imported);
    if (firstMessageId !== undefined) await forgetIndexedMail(tx, firstMessageId);
    await removeSetting(tx, mark);
    await signalToForget(tx, { kind: "account", id });
  });
}

async function* movedLines(
  open: OpenExport,
  { id }: MovedAccount,
  domainIds: DomainIds,
  isWanted: (table: string) => boolean,
): AsyncGenerator<PortableLine> {
  for await (const line of portableLines(open())) if (isWanted(line.table)) yield movedLine(line, id, domainIds);
}

/** The most collisions that are named. */
const mostNamed = 5;

async function refuseCollisions(own: Db, open: OpenExport): Promise<void> {
  const found = new Set<string>();
  for await (const line of portableLines(open())) {
    const rows = line.rows.filter(({ accountId }) => accountId !== null);
    for (const each of await listCollisions(own, { ...line, rows })) found.add(each);
  }
  if (found.size === 0) return;
  const named = [...found].slice(0, mostNamed).join(", ");
  const others = found.size > mostNamed ? ` and ${found.size - mostNamed} more` : "";
  throw refused(`this service has already: ${named}${others}`);
}

async function domainIdsHere(own: Db, { sharedDomains }: MovedAccount): Promise<DomainIds> {
  const here = new Map((await listSharedDomains(own, [...sharedDomains.values()])).map(({ id, name }) => [name, id]));
  const missing = [...sharedDomains.values()].filter((name) => !here.has(name));
  if (missing.length > 0) {
    throw refused(`it has inboxes at shared domains that are not here: ${missing.join(", ")}; add these first`);
  }
  return new Map([...sharedDomains].map(([id, name]) => [id, here.get(name) ?? id]));
}

function progressOf(stored: string | undefined): Progress | undefined {
  return stored === undefined ? undefined : (JSON.parse(stored) as Progress);
}

/** SQLSTATE of a row whose key exists. */
const uniqueViolation = "23505";

function isDuplicate(error: unknown): boolean {
  return error instanceof StatementFailed && error.sqlState === uniqueViolation;
}

function refused(why: string): Refusal {
  return new Refusal("forbidden", `Cannot import: ${why}`);
}
