/** What the page has seen of the account: fills ids into forms, so that none has to be made up. */
export interface Known {
  /** What stands for a wanted thing, if it is known. */
  meant(wanted: string): string | undefined;
  /** Takes what it can from an answer. */
  learn(answer: unknown): void;
  /** After a thing was not found, or was deleted. */
  forget(): void;
}

interface Mail {
  id: string;
  threadId: string;
  inboxId: string;
  from: string;
}

export function newKnown(): Known {
  const addresses = new Map<string, string>();
  let inbox: string | undefined;
  let mail: Mail | undefined;
  let isInbound = false;
  let event: string | undefined;
  let attachment: { message: string; name: string } | undefined;

  function learnOne(entry: Fields, keepsInbox: boolean): void {
    const id = textOf(entry.id);
    if (id.startsWith("inb_") && typeof entry.address === "string") {
      addresses.set(id, entry.address);
      if (keepsInbox) return;
      if (mail?.inboxId !== id) mail = undefined;
      inbox = id;
    }
    if (id.startsWith("msg_")) learnMail(id, entry);
    if (typeof entry.event_id === "string") event = entry.event_id;
  }

  function learnMail(id: string, entry: Fields): void {
    const file = Array.isArray(entry.attachments) ? (entry.attachments[0] as Fields | undefined) : undefined;
    if (file) attachment = { message: id, name: textOf(file.filename) };
    const comesIn = entry.direction === "inbound";
    if (mail !== undefined && isInbound && !comesIn) return;
    mail = { id, threadId: textOf(entry.threadId), inboxId: textOf(entry.inboxId), from: textOf(entry.fromAddr) };
    isInbound = comesIn;
    inbox = mail.inboxId;
    if (comesIn && !addresses.has(inbox)) addresses.set(inbox, textOf(entry.toAddr));
  }

  return {
    meant(wanted) {
      const values: Record<string, string | undefined> = {
        inbox,
        address: inbox === undefined ? undefined : addresses.get(inbox),
        message: mail?.id,
        thread: mail?.threadId,
        correspondent: isInbound ? mail?.from : undefined,
        event,
        attachmentMessage: attachment?.message,
        attachmentName: attachment?.name,
      };
      return values[wanted] || undefined;
    },
    learn(answer) {
      const { data } = fieldsOf(answer);
      if (!Array.isArray(data)) return learnOne(fieldsOf(answer), false);
      // A list begins with what is newest, which shall win; but it doesn't take away the inbox that somebody works with.
      const hasInbox = inbox !== undefined;
      for (const entry of data.toReversed()) learnOne(fieldsOf(entry), hasInbox);
    },
    forget() {
      inbox = undefined;
      mail = undefined;
      event = undefined;
      attachment = undefined;
    },
  };
}

type Fields = Record<string, unknown>;

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
