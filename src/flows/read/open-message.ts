import type { Db } from "../../database/db.ts";
import type { Extraction } from "../../extract/extract.ts";
import { findMessage, type StoredMessage } from "../../store/mail/message-pages.ts";
import { type ExtractingDeps, extractedOf } from "./extracted.ts";

/** A message with its bodies, and what they say once somebody asks. */
export interface Opened {
  message: StoredMessage;
  extracted: () => Extraction;
}

export type MessageOpener = (accountId: string, id: string) => Promise<Opened | undefined>;

/** However many want a message at the same time, it is read once, and looked into once. Afterwards nothing of it is kept. */
export function messageOpener({ db, log }: ExtractingDeps & { db: Db }): MessageOpener {
  const underWay = new Map<string, Promise<Opened | undefined>>();

  async function open(accountId: string, id: string): Promise<Opened | undefined> {
    const message = await findMessage(db, accountId, id);
    if (message === undefined) return undefined;
    let extraction: Extraction | undefined;
    return {
      message,
      extracted() {
        extraction ??= extractedOf(log, message);
        return extraction;
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
