import { Refusal } from "../../domain/errors.ts";
import { migrations } from "../../store/migrate.ts";
import type { PortableLine } from "../../store/upkeep/portable.ts";

/** The first line of an export. An import stores its progress under the id of the export. */
export interface ExportHeader {
  inboxd: "export";
  id: string;
  version: string;
  schema: string;
  exportedAt: string;
  /** The id of the only exported account. The export of a whole service has none. */
  account?: string;
  /** The id of an earlier export of the account, if this one has only what has changed since. */
  after?: string;
}

/** The last line: a file without it is incomplete. */
export interface ExportEnd {
  end: true;
  rows: number;
  /** SHA-256 of all bytes before this line. */
  sha256: string;
}

export interface ExportOptions {
  id: string;
  version: string;
  now: Date;
}

export type WriteText = (text: string) => Promise<void>;

/** Opens an export to read it from its beginning, line by line. */
export type OpenExport = () => AsyncIterable<string>;

/** Writes an export as JSON lines. `read` calls its argument for each line with rows. Only one line at a time is in memory. */
export async function writeExport(
  { id, version, now, account, after }: ExportOptions & Pick<ExportHeader, "account" | "after">,
  write: WriteText,
  read: (onLine: (line: PortableLine) => Promise<void>) => Promise<void>,
): Promise<ExportEnd> {
  const hash = new Bun.CryptoHasher("sha256");
  let rows = 0;
  const line = async (value: object) => {
    const text = `${JSON.stringify(value)}\n`;
    hash.update(text);
    await write(text);
  };
  const header: ExportHeader = {
    inboxd: "export",
    id,
    version,
    schema: migrations.at(-1)?.tag ?? "",
    exportedAt: now.toISOString(),
    ...(account !== undefined && { account }),
    ...(after !== undefined && { after }),
  };
  await line(header);
  await read(async (one) => {
    rows += one.rows.length;
    await line(one);
  });
  const end: ExportEnd = { end: true, rows, sha256: hash.digest("hex") };
  await write(`${JSON.stringify(end)}\n`);
  return end;
}

/**
 * Reads an export file, and checks it against the digest and the number of rows in its last line. Returns its header. `onLine` gets each line
 * with rows, before it is known whether the file is whole.
 */
export async function checkWhole(
  lines: AsyncIterable<string>,
  onLine: (line: PortableLine, header: ExportHeader) => void | Promise<void> = () => undefined,
): Promise<ExportHeader> {
  const hash = new Bun.CryptoHasher("sha256");
  let header: ExportHeader | undefined;
  let rows = 0;
  for await (const text of lines) {
    const line = parsed(text);
    header ??= headerOf(line);
    if ("end" in line) {
      const end = line as unknown as ExportEnd;
      if (end.rows !== rows || end.sha256 !== hash.digest("hex")) throw damaged("its checksum does not match");
      return header;
    }
    hash.update(`${text}\n`);
    if (!isPortable(line)) continue;
    rows += line.rows.length;
    await onLine(line, header);
  }
  throw damaged("its end is missing");
}

/** The lines with rows of an export that was checked. */
export async function* portableLines(lines: AsyncIterable<string>): AsyncGenerator<PortableLine> {
  for await (const text of lines) {
    const line = JSON.parse(text) as object;
    if (isPortable(line)) yield line;
  }
}

function isPortable(line: object): line is PortableLine {
  return "table" in line;
}

function headerOf(line: object): ExportHeader {
  const header = line as Partial<ExportHeader>;
  if (header.inboxd !== "export" || typeof header.id !== "string") throw damaged("it is not an export of inboxd");
  if (!migrations.some(({ tag }) => tag === header.schema)) {
    throw new Refusal(
      "validation_error",
      `Cannot read export: it was made by a newer inboxd (${header.version}); use that version or a later one`,
    );
  }
  return header as ExportHeader;
}

function parsed(text: string): object {
  try {
    return JSON.parse(text) as object;
  } catch {
    throw damaged("a line is not JSON");
  }
}

export function damaged(why: string): Refusal {
  return new Refusal("validation_error", `Cannot read export: the file is damaged, ${why}`);
}
