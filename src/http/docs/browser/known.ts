/** Values of the account that the page has seen. They fill the forms. */
export interface Known {
  /** The value of a placeholder, if it is known. */
  meant(wanted: string): string | undefined;
  /** Remembers the values in an answer. */
  learn(answer: unknown): void;
  /** Forgets the remembered values. Called after a 404, a deletion or a change of the key. */
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
      // The newest row begins a list, and is read last, so that its values win. A list of inboxes does not replace the
      // inbox in use.
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
