import type { Db } from "../../database/db.ts";
import type { Reach } from "../../domain/access/access.ts";
import { findMessage, type StoredMessage } from "../../store/mail/message-pages.ts";

/** The codes and links that were extracted from a message. A request may wait for a message that has some. */
export interface Extracted {
  codes: readonly unknown[];
  links: readonly { kind: string | null }[];
}

export interface OpenerDeps {
  db: Db;
  extract: (accountId: string, message: StoredMessage) => Promise<Extracted>;
}

/** A message with its bodies. The first call of `extracted` extracts its codes and links. */
export interface Opened {
  message: StoredMessage;
  extracted: () => Promise<Extracted>;
}

export type MessageOpener = (reach: Reach, id: string) => Promise<Opened | undefined>;

/**
 * Returns a function that opens a message. Calls for a message that is being read share its result, and so what is extracted from it.
 * Nothing is kept for later calls.
 */
export function messageOpener({ db, extract }: OpenerDeps): MessageOpener {
  const underWay = new Map<string, Promise<Opened | undefined>>();

  async function open(reach: Reach, id: string): Promise<Opened | undefined> {
    const message = await findMessage(db, reach, id);
    if (message === undefined) return undefined;
    let extracted: Promise<Extracted> | undefined;
    return {
      message,
      extracted() {
        extracted ??= extract(reach.accountId, message);
        return extracted;
      },
    };
  }

  return (accountId, id) => {
    const known = underWay.get(id);
    if (known !== undefined) return known;
    const opening = open(accountId, id).finally(() => underWay.delete(id));
    underWay.set(id, opening);
    return opening;
  };
}
