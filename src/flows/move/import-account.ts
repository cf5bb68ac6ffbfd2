import { type Db, StatementFailed, transaction } from "../../database/db.ts";
import { commandLine } from "../../domain/access/actor.ts";
import { Refusal } from "../../domain/errors.ts";
import { signalToForget } from "../../store/channels.ts";
import { raiseEventLog } from "../../store/events/event-log.ts";
import { openingTableNames, sharedTableName } from "../../store/upkeep/account-rows.ts";
import { holdImporting, listCollisions, listSharedDomains, releaseImporting } from "../../store/upkeep/collisions.ts";
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

/**
 * Imports the export of one account into a service that has others.
 *
 * First come the rows that nobody reaches without an inbox of the account, such as its mail: each line in one transaction, which also stores
 * the number of the line, so that an interrupted import can be continued. One long transaction would hold back the events of all accounts.
 * Then one transaction writes the account, its keys, inboxes, addresses and outbox. So the account is there whole or not at all. If the
 * import fails, the rows that it has written are deleted.
 */
export async function importAccount(deps: ImportDeps, open: OpenExport): Promise<Imported> {
  const file = await readFacts(deps, open);
  if (file.account.ownDomains.includes(deps.mailDomain.toLowerCase())) {
    throw refused(`its own domain ${deps.mailDomain} is the MAIL_DOMAIN of this service`);
  }
  return deps.db.maintain(async (own) => {
    if (!(await holdImporting(own))) throw refused("another import of an account is running");
    try {
      return await importAlone(deps, own, open, file);
    } finally {
      await releaseImporting(own);
    }
  });
}

interface MovedFile {
  account: MovedAccount;
  exportId: string;
}

async function readFacts({ sealing }: ImportDeps, open: OpenExport): Promise<MovedFile> {
  let found: ReturnType<typeof factsOf> | undefined;
  const { id: exportId, account } = await checkWhole(open(), (line, header) => {
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
  return { account: found.facts(), exportId };
}

/** How far an import has come: the lines that are written, and whether it is being undone. */
interface Progress {
  exportId: string;
  lines: number;
  isUndoing: boolean;
}

async function importAlone(
  deps: ImportDeps,
  own: Db,
  open: OpenExport,
  { account, exportId }: MovedFile,
): Promise<Imported> {
  const mark = `import of ${account.id}`;
  const found = progressOf(await findSetting(own, mark));
  if (found !== undefined && found.exportId !== exportId) {
    throw refused("an import of this account from another file was interrupted; import that file first");
  }
  const linesBehind = () => movedLines(open, account, new Map(), (table) => !openingTableNames.has(table));

  async function store(tx: Db, lines: number, isUndoing = false): Promise<void> {
    await insertOrChangeSetting(tx, mark, [exportId, lines, isUndoing ? "undoing" : "writing"].join(" "));
  }

  async function undo(lines: number): Promise<void> {
    await store(own, lines, true);
    let number = 0;
    for await (const line of linesBehind()) {
      number += 1;
      if (number > lines) break;
      await deleteLine(own, line);
    }
    await removeSetting(own, mark);
  }

  if (found?.isUndoing) await undo(found.lines);
  const done = found === undefined || found.isUndoing ? 0 : found.lines;
  let number = 0;
  let resumedAfter = 0;
  let reached = done;
  try {
    await refuseCollisions(own, open);
    const domainIds = await domainIdsHere(own, account);
    for await (const line of linesBehind()) {
      number += 1;
      if (number <= done) {
        resumedAfter += line.rows.length;
        continue;
      }
      await transaction(own, async (tx) => {
        await insertNewLine(tx, line);
        await store(tx, number);
      });
      reached = number;
    }
    if (account.lastPosition !== undefined) await raiseEventLog(deps.db, account.lastPosition);
    await openAccount(deps, own, account, mark, () =>
      movedLines(open, account, domainIds, (table) => openingTableNames.has(table)),
    );
  } catch (error) {
    if (reached > 0) await undo(reached);
    throw isDuplicate(error) ? refused("this service has some of its rows already") : error;
  }
  return { rows: account.rows, resumedAfter };
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
  if (stored === undefined) return undefined;
  const [exportId = "", lines, state] = stored.split(" ");
  return { exportId, lines: Number(lines), isUndoing: state === "undoing" };
}

/** SQLSTATE of a row whose key exists. */
const uniqueViolation = "23505";

function isDuplicate(error: unknown): boolean {
  return error instanceof StatementFailed && error.sqlState === uniqueViolation;
}

function refused(why: string): Refusal {
  return new Refusal("forbidden", `Cannot import: ${why}`);
}
