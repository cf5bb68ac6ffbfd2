import { access, mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { RelayOutcome } from "../domain/outcome.ts";
import { cleanLine } from "../standards/smtp-reply.ts";
import type { Relay } from "./relay.ts";
import { forAll, headOf, type MailBody, piecesOf, type RelayedMail } from "./relayed-mail.ts";
import { workUnderWay } from "./under-way.ts";

export interface SandboxOptions {
  directory: string;
  now: () => Date;
}

/** Sends nothing: each mail is written to a file and counts as sent to all of its recipients. */
export function sandboxRelay({ directory, now }: SandboxOptions): Relay {
  const inHand = workUnderWay();

  async function keep({ body }: RelayedMail): Promise<RelayOutcome> {
    try {
      const name = await writeNew(directory, fileStem(now(), await headOf(body)), body);
      return { kind: "sent", reply: `250 2.0.0 Kept in the sandbox: ${name}`, providerMessageId: undefined };
    } catch (error) {
      const message = cleanLine(`Cannot write to the sandbox: ${error instanceof Error ? error.message : error}`);
      return { kind: "retry", failure: { code: null, enhancedCode: null, message }, maybeAccepted: false };
    }
  }

  return {
    send: async (mail) => forAll(mail, await inHand.keep(keep(mail))),
    close: inHand.ended,
    describe: () => `sandbox (${directory})`,
    serverOf: () => "sandbox",
  };
}

/**
 * Writes a new file, whole or not at all, and syncs it to disk before it returns. The temporary file reserves the name:
 * only the call that created it may check for the final name and rename to it, so two calls never take the same name.
 */
async function writeNew(directory: string, stem: string, body: MailBody): Promise<string> {
  if ((await mkdir(directory, { recursive: true, mode: 0o700 })) !== undefined) await syncDirectory(dirname(directory));
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? `${stem}.eml` : `${stem}-${number}.eml`;
    const path = join(directory, name);
    const temporary = join(directory, `.${name}.part`);
    const file = await open(temporary, "wx", 0o600).catch(ifTaken);
    if (file === undefined) continue;
    let isKept = false;
    try {
      if (await exists(path)) continue;
      for await (const piece of piecesOf(body)) await file.writeFile(piece);
      await file.sync();
      await rename(temporary, path);
      isKept = true;
    } finally {
      await file.close();
      if (!isKept) await rm(temporary);
    }
    await syncDirectory(directory);
    return name;
  }
}

/** A file name such as `20260321T100500.000Z-id@example.com`: the time, then the safe characters of the Message-ID. */
function fileStem(at: Date, begin: Uint8Array): string {
  const head = new TextDecoder("latin1").decode(begin).split(/\r?\n\r?\n/, 1)[0] ?? "";
  const messageId = /^message-id:\s*<?([^>\r\n]*)/im.exec(head)?.[1] ?? "";
  const safe = messageId.replace(/[^A-Za-z0-9@._-]+/g, "_").slice(0, 100);
  return `${at.toISOString().replace(/[-:]/g, "")}-${safe === "" ? "mail" : safe}`;
}

function ifTaken(error: unknown): undefined {
  if ((error as { code?: string }).code !== "EEXIST") throw error;
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Syncs the directory: only then is a new name in it on disk. */
async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
