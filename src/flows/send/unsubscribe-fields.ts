import type { Db } from "../../database/db.ts";
import { isProven, returnPathHost } from "../../domain/domains/readiness.ts";
import type { CustomHeader } from "../../domain/message.ts";
import type { UnsubscribeNames } from "../../domain/reports/unsubscribing.ts";
import type { Send } from "../../domain/send/send.ts";
import { unsubscribeHeaders } from "../../domain/send/unsubscribing.ts";
import { listDomainsOfInboxes } from "../../store/account/domains.ts";

export interface UnsubscribeFieldsDeps {
  names: UnsubscribeNames;
  baseUrl: () => string;
  /** Whether a DKIM key signs mail from MAIL_DOMAIN. */
  signsMailDomain: boolean;
}

/** Adds the header fields to the sends that ask for them, where they would work. */
export type AddUnsubscribeFields = (db: Db, sends: readonly Send[]) => Promise<readonly Send[]>;

/**
 * Makes the function that adds header fields to unsubscribe. They are stored with the message, so that each attempt sends the same ones. The
 * mail address is at the host of the domain's return paths, if its record is valid, so that all domains of the mail agree.
 */
export function unsubscribeFields({ names, baseUrl, signsMailDomain }: UnsubscribeFieldsDeps): AddUnsubscribeFields {
  return async (db, sends) => {
    const asking = sends.filter(({ request }) => request.unsubscribe === true);
    if (asking.length === 0 || !baseUrl().startsWith("https://")) return sends;
    const domains = await listDomainsOfInboxes(db, [...new Set(asking.map(({ request }) => request.inboxId))]);
    const fieldsOf = async ({ messageId, request }: Send): Promise<CustomHeader[] | undefined> => {
      const domain = domains.find(({ inboxId }) => inboxId === request.inboxId);
      const isSigned = domain === undefined ? signsMailDomain : domain.hasKey && isProven(domain.status);
      if (!isSigned) return undefined;
      const address = await names.address(messageId, domain && returnPathHost(domain));
      return unsubscribeHeaders(`${baseUrl()}/u/${await names.token(messageId)}`, address);
    };
    return Promise.all(
      sends.map(async (send) => (asking.includes(send) ? { ...send, unsubscribeFields: await fieldsOf(send) } : send)),
    );
  };
}
