import type { Mailbox } from "../../domain/message.ts";
import { parseMail } from "../read/parse.ts";
import type { TextSheet } from "./text-sheet.ts";

/** Reads a mail: its sender, recipients, subject and text, and the names of its files. */
export async function readEml(bytes: Buffer, sheet: TextSheet): Promise<void> {
  const { from, to, cc, subject, bodyText, attachments } = await parseMail(bytes, { mailDomain: "localhost" });
  addField(sheet, "From", from === undefined ? [] : [from]);
  addField(sheet, "To", to);
  addField(sheet, "Cc", cc);
  sheet.add(`Subject: ${subject}`);
  sheet.endBlock();
  sheet.add(bodyText);
  if (attachments.length === 0) return;
  sheet.endBlock();
  sheet.add(`Files: ${attachments.map(({ filename }) => filename).join(", ")}`);
}

function addField(sheet: TextSheet, name: string, mailboxes: readonly Mailbox[]): void {
  if (mailboxes.length === 0) return;
  sheet.add(
    `${name}: ${mailboxes.map(({ address, name: said }) => (said ? `${said} <${address}>` : address)).join(", ")}`,
  );
  sheet.endLine();
}
