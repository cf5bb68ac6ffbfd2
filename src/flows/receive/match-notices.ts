import { isId } from "../../domain/ids.ts";
import type { Notice, NoticeNames } from "../../domain/reports/notice.ts";
import type { ReturnPaths } from "../../domain/reports/return-path.ts";
import { otherName } from "../../domain/send/wire-name.ts";
import { splitAddress } from "../../standards/address.ts";
import {
  type AskedName,
  insertNames,
  listNoticedMessages,
  type NoticedMessage,
} from "../../store/send/message-names.ts";
import type { Deps } from "../deps.ts";

export interface NoticedMessagesDeps extends Pick<Deps, "db"> {
  returnPaths: ReturnPaths;
}

/**
 * Finds the message of each notice by the names in it (ids, a return path, Message-IDs), in one read. Notices without a message are left
 * out.
 */
export async function messagesByNames(
  deps: NoticedMessagesDeps,
  notices: readonly Notice[],
): Promise<Map<Notice, NoticedMessage>> {
  const named = await Promise.all(notices.map((notice) => namesOf(deps, notice.names)));
  const read = await listNoticedMessages(deps.db.api, distinct(named.flat()));
  const found = Map.groupBy(read, ({ foundBy }) => foundBy);
  return new Map(
    notices.flatMap((notice, index) => {
      const message = firstFound(named[index] ?? [], found);
      return message === undefined ? [] : [[notice, message] as const];
    }),
  );
}

/** Stores the Message-IDs with which mails left the relay, because an answer to such a mail may name only that Message-ID. */
export async function keepWireNames(
  { db }: NoticedMessagesDeps,
  messageOf: ReadonlyMap<Notice, NoticedMessage>,
): Promise<void> {
  const learned = [...messageOf].flatMap(([{ names }, { id: messageId }]) => {
    const other = otherName(names.wireMessageId ?? "");
    return other !== undefined && isWireName(other.name) ? [{ messageId, ...other }] : [];
  });
  await insertNames(db.api, learned);
}

/** Whether a text can be a Message-ID of a header field (RFC 5322 §2.1.1), but not one of our own. */
function isWireName(name: string): boolean {
  return name.includes("@") && name.length <= 998 && ownMessageId(name) === undefined;
}

/** The names to look a message up by, the most certain first. */
async function namesOf({ returnPaths }: NoticedMessagesDeps, names: NoticeNames): Promise<AskedName[]> {
  const asked: AskedName[] = [];
  if (names.mark !== undefined && isId("msg", names.mark)) asked.push({ messageId: names.mark });
  const returned = await returnPaths.read(splitAddress(names.returnPath ?? "")?.local ?? "");
  if (returned !== undefined) asked.push({ messageId: returned });
  for (const name of [names.rfcMessageId, names.wireMessageId, names.providerMessageId]) {
    const other = otherName(name ?? "");
    if (other === undefined) continue;
    const messageId = ownMessageId(other.name);
    if (messageId !== undefined) asked.push({ messageId });
    asked.push({ nameHash: other.nameHash });
  }
  return asked;
}

/** The id of the message, if the Message-ID is one of our own: they have that id before the @, and any of our domains behind it. */
function ownMessageId(messageId: string): string | undefined {
  const { local = "" } = splitAddress(messageId) ?? {};
  return isId("msg", local) ? local : undefined;
}

function distinct(names: readonly AskedName[]): AskedName[] {
  return [...new Map(names.map((name) => [keyOf(name), name])).values()];
}

function keyOf({ messageId, nameHash }: AskedName): string {
  return messageId ?? nameHash ?? "";
}

/** Goes through the names, and returns the message of the first one that belongs to exactly one message. */
function firstFound(
  names: readonly AskedName[],
  found: ReadonlyMap<string, readonly NoticedMessage[]>,
): NoticedMessage | undefined {
  for (const name of names) {
    const [one, other] = found.get(keyOf(name)) ?? [];
    if (one !== undefined && other === undefined) return one;
  }
  return undefined;
}
