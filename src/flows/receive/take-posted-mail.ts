import { isWholeAccount, type Reach } from "../../domain/access/access.ts";
import { notFound, Refusal } from "../../domain/errors.ts";
import type { MailClient } from "../../domain/receive/inbound-mail.ts";
import { within } from "../../primitives/within.ts";
import { listOwnInboxIds } from "../../store/account/inboxes.ts";
import type { Deps } from "../deps.ts";
import type { MailDoor, RecipientFound } from "./accept-mail.ts";
import type { Addressee } from "./accept-returned.ts";

export interface PostedMailDeps extends Deps {
  door: Pick<MailDoor, "recipient" | "accept">;
}

/** The envelope of a mail that comes by HTTP. */
export interface PostedEnvelope {
  from: string;
  to: readonly string[];
  client: MailClient;
  /** The inboxes that may get the mail; undefined for all, and for return paths. */
  reach: Reach | undefined;
}

/** The bytes of a mail, which occupy memory until `release`. */
export interface HeldMail {
  raw: Uint8Array;
  release(): void;
}

export const postedStatuses = ["stored", "quarantined", "unknown", "disabled", "refused", "full"] as const;
export type PostedStatus = (typeof postedStatuses)[number];

export interface PostedRecipient {
  address: string;
  status: PostedStatus;
}

/** Takes a mail that comes by HTTP. Resolves when it is on disk for each recipient that is `stored`. Throws if it is stored for none. */
export type TakePostedMail = (envelope: PostedEnvelope, read: () => Promise<HeldMail>) => Promise<PostedRecipient[]>;

/** Looks up the recipients before the mail is read, as SMTP does, so that a mail for nobody occupies no memory. */
export function postedMailTaker(deps: PostedMailDeps): TakePostedMail {
  return async ({ from, to, client, reach }, read) => {
    const found: Recipient[] = [];
    for (const address of to) found.push(await recipientFor(deps, address, reach));
    const recipients = found.flatMap(({ addressee }) => addressee ?? []);
    if (recipients.length === 0) throw nothingStored(found);
    refuseSeveralPaths(recipients);
    const { raw, release } = await read();
    const inQuarantine = new Set<string>();
    const onQuarantined = (inboxId: string) => void inQuarantine.add(inboxId);
    const accepted = deps.door.accept({ envelope: { from, recipients, client }, raw, onQuarantined }).finally(release);
    const outcome = await within(acceptMs, accepted, () => "unavailable" as const);
    if (outcome === "unavailable") throw notNow("the mail cannot be stored now", 1);
    if (outcome === "undecided") throw notNow("its sender could not be checked in time", laterSeconds);
    const ofMail = outcome === "gone" ? "unknown" : outcome;
    const told = found.map(({ address, addressee, status }): PostedRecipient => {
      if (addressee === undefined) return { address, status };
      const isApart = "inboxId" in addressee && inQuarantine.has(addressee.inboxId);
      return { address, status: isApart ? "quarantined" : ofMail };
    });
    if (!told.some((one) => one.status === "stored" || one.status === "quarantined")) throw nothingStored(told);
    return told;
  };
}

interface Recipient extends PostedRecipient {
  /** Undefined if the recipient does not get the mail. */
  addressee: Addressee | undefined;
}

/** The recipient of an address. Throws if it takes no mail for now: then nothing of the mail is stored, and the caller repeats it. */
async function recipientFor(deps: PostedMailDeps, address: string, reach: Reach | undefined): Promise<Recipient> {
  const found = await deps.door.recipient(address);
  if (!(await isWithin(deps, reach, found))) return { address, status: "unknown", addressee: undefined };
  switch (found.kind) {
    case "accept":
      return { address, status: "stored", addressee: { toAddr: address, inboxId: found.inboxId } };
    case "return_path": {
      const { kind: _kind, ...path } = found;
      return { address, status: "stored", addressee: { toAddr: address, ...path } };
    }
    case "suspended":
    case "busy":
      throw notNow("a recipient takes no mail for now", laterSeconds);
    default:
      return { address, status: statusOf[found.kind], addressee: undefined };
  }
}

/** The status of a recipient that does not get the mail. */
const statusOf = { full: "full", disabled: "disabled", unknown: "unknown", other_domain: "unknown" } as const;

/** Whether a caller reaches the inbox of an address. All other addresses are unknown to the caller, and so are return paths. */
async function isWithin({ db }: Deps, reach: Reach | undefined, found: RecipientFound): Promise<boolean> {
  if (reach === undefined) return true;
  if (!("inboxId" in found) || found.accountId !== reach.accountId) return false;
  return isWholeAccount(reach) || (await listOwnInboxIds(db.mail, reach, [found.inboxId])).has(found.inboxId);
}

/** Refuses a mail to several return paths, as SMTP does: it would be stored with the message of each. */
function refuseSeveralPaths(recipients: readonly Addressee[]): void {
  const messages = new Set(recipients.flatMap((one) => ("messageId" in one ? one.messageId : [])));
  if (messages.size < 2) return;
  throw new Refusal("validation_error", "Cannot take mail: it has several return paths", {
    faults: [{ parameter: "Envelope-To", detail: "must have at most one return path" }],
  });
}

/** How long the storing of a mail may take, in less than the time after which the HTTP server closes a silent connection. */
const acceptMs = 45_000;
const laterSeconds = 60;

function notNow(why: string, retryAfterSeconds: number): Refusal {
  return new Refusal("service_unavailable", `Cannot take mail: ${why}`, { retryAfterSeconds });
}

/** The refusal of a mail that is stored for no recipient. */
function nothingStored(recipients: readonly PostedRecipient[]): Refusal {
  const has = (status: PostedStatus) => recipients.some((one) => one.status === status);
  if (has("full"))
    return new Refusal("storage_full", "Cannot take mail: the inbox, or its account, has no room for it");
  if (has("disabled")) return new Refusal("inbox_disabled", "Cannot take mail: the inbox is disabled");
  if (has("refused")) return new Refusal("sender_refused", "Cannot take mail: the inbox refuses it");
  return notFound("inbox");
}
