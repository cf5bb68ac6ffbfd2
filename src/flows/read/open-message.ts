import type { Db } from "../../database/db.ts";
import { findMessage, type StoredMessage } from "../../store/mail/message-pages.ts";

/** The codes and links of a message, for which a request may wait. */
export interface Extracted {
  codes: readonly unknown[];
  links: readonly { kind: string | null }[];
}

export interface OpenerDeps {
  db: Db;
  extract: (accountId: string, message: StoredMessage) => Promise<Extracted>;
}

/** A message with its bodies. Codes and links are extracted when they are needed. */
export interface Opened {
  message: StoredMessage;
  extracted: () => Promise<Extracted>;
}

export type MessageOpener = (accountId: string, id: string) => Promise<Opened | undefined>;

/** Reads and extracts a message once for all requests that need it at the same time. It keeps nothing afterwards. */
export function messageOpener({ db, extract }: OpenerDeps): MessageOpener {
  const underWay = new Map<string, Promise<Opened | undefined>>();

  async function open(accountId: string, id: string): Promise<Opened | undefined> {
    const message = await findMessage(db, accountId, id);
    if (message === undefined) return undefined;
    let extracted: Promise<Extracted> | undefined;
    return {
      message,
      extracted() {
        extracted ??= extract(accountId, message);
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
