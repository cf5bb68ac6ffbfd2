import { Refusal } from "../../domain/errors.ts";
import { base32 } from "../../domain/ids.ts";
import { sealedMark } from "../../standards/sealing.ts";
import { accountTableNames } from "../../store/upkeep/account-rows.ts";
import type { PortableLine, PortableRow } from "../../store/upkeep/portable.ts";
import { damaged } from "./export-file.ts";

/** The facts about the exported account that its import needs. */
export interface MovedAccount {
  id: string;
  rows: number;
  /** The position in the log of its last event; undefined without events. */
  lastPosition: string | undefined;
  /** The lowest id of a message; undefined without messages. */
  firstMessageId: string | undefined;
  /** The names of the shared domains that it uses, by their ids in the other service. */
  sharedDomains: ReadonlyMap<string, string>;
  /** The names of its own domains. */
  ownDomains: readonly string[];
}

/** Collects the facts from the lines of an export. Throws for lines that are not of this account, and for secrets that none of our keys opens. */
export function factsOf(id: string, opens: readonly string[]) {
  let rows = 0;
  let lastPosition: bigint | undefined;
  let firstMessageId: string | undefined;
  const sharedDomains = new Map<string, string>();
  const ownDomains: string[] = [];

  const look: Readonly<Record<string, (row: PortableRow) => void>> = {
    domains({ id: domainId, name, accountId }) {
      if (accountId === null) sharedDomains.set(String(domainId), String(name));
      else ownDomains.push(String(name));
    },
    events({ writtenBy }) {
      const position = BigInt(String(writtenBy));
      if (lastPosition === undefined || position > lastPosition) lastPosition = position;
    },
    messages({ id: messageId }) {
      if (firstMessageId === undefined || String(messageId) < firstMessageId) firstMessageId = String(messageId);
    },
  };

  return {
    take(line: PortableLine): void {
      if (!accountTableNames.has(line.table)) throw damaged(`the export of an account has no table ${line.table}`);
      rows += line.rows.length;
      if (line.gone) return;
      for (const row of line.rows) {
        if (!isOf(id, line.table, row)) throw damaged("it has rows of another account");
        if (secretsOf(row).some((secret) => isSealedByOthers(secret, opens))) throw sealedByOthers();
        look[line.table]?.(row);
      }
    },
    facts: (): MovedAccount => ({
      id,
      rows,
      lastPosition: lastPosition?.toString(),
      firstMessageId,
      sharedDomains,
      ownDomains,
    }),
  };
}

function isOf(id: string, table: string, row: PortableRow): boolean {
  if (table === "accounts") return row.id === id;
  return row.accountId === undefined || row.accountId === id || (table === "domains" && row.accountId === null);
}

function secretsOf({ secret, previousSecret, privateKey }: PortableRow): string[] {
  return [secret, previousSecret, privateKey].filter((each) => typeof each === "string");
}

function isSealedByOthers(secret: string, opens: readonly string[]): boolean {
  return secret.startsWith(sealedMark) && !opens.some((mark) => secret.startsWith(mark));
}

function sealedByOthers(): Refusal {
  return new Refusal(
    "validation_error",
    "Cannot import: another ENCRYPTION_KEY sealed the secrets in the file; set that one as ENCRYPTION_KEY_PREVIOUS here",
  );
}

/** The ids of our shared domains, by the ids that they have in the other service. */
export type DomainIds = ReadonlyMap<string, string>;

/**
 * The rows of a line as they are written here. The sources of mail get other ids: another account may have come from the same service with the
 * same mail. A suspension for the time of the move ends with it.
 */
export function movedLine(
  { table, rows, ...line }: PortableLine,
  accountId: string,
  domainIds: DomainIds,
): PortableLine {
  const own = table === "domains" ? rows.filter((row) => row.accountId !== null) : rows;
  return { ...line, table, rows: own.map((row) => ({ ...row, ...changesOf(table, row, accountId, domainIds) })) };
}

function changesOf(table: string, row: PortableRow, accountId: string, domainIds: DomainIds): PortableRow {
  const { sourceId, subjectId, kind, domainId, suspended } = row;
  if (table === "accounts" && suspended === "moving") return { suspended: null, suspendedReason: null, movedTo: null };
  if (table === "inboxes" && typeof domainId === "string") return { domainId: domainIds.get(domainId) ?? domainId };
  if (table === "outbox" && kind === "parse") return { subjectId: sourceIdHere(String(subjectId), accountId) };
  if (typeof sourceId === "string" && sourceId !== "") return { sourceId: sourceIdHere(sourceId, accountId) };
  return {};
}

/** The id of a source of this account: of the same instant, and always the same for the same source. */
function sourceIdHere(sourceId: string, accountId: string): string {
  const digest = new Bun.CryptoHasher("sha256").update(`${accountId} ${sourceId}`).digest();
  const rest = [0, 4, 8, 12].map((at) => base32(digest.readUInt32BE(at), 4)).join("");
  return `${sourceId.slice(0, 14)}${rest}`;
}
