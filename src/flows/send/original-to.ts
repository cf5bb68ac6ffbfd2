import type { Db } from "../../database/db.ts";
import type { AddressedMessage } from "../../domain/send/send-facts.ts";
import { headLimits, readHead } from "../../mail/read/head.ts";
import { findChunk } from "../../store/mail/sources.ts";

/** The To field of a mail that came in, where its row does not say it: from its raw source. */
export async function originalTo(
  db: Db,
  { direction, toAddrs, sourceId }: AddressedMessage,
): Promise<{ toAddrs?: readonly string[] }> {
  if (direction === "outbound" || toAddrs !== null || sourceId === null) return {};
  const first = await findChunk(db, sourceId, 0, 0);
  if (first === undefined) return {};
  const block = Buffer.from(first.subarray(0, headLimits.blockBytes));
  const end = /\r?\n\r?\n/.exec(block.toString("latin1"))?.index ?? block.length;
  const { listed } = readHead(block.subarray(0, end), []);
  return { toAddrs: listed.to.map(({ address }) => address) };
}
