import { expect, test } from "bun:test";
import pino from "pino";
import { DatabaseUnavailable } from "../../../src/database/db.ts";
import { asStoreError } from "../../../src/database/unavailable.ts";
import { type AcceptDeps, mailDoor } from "../../../src/flows/receive/accept-mail.ts";
import { envelopeTo, parsedMail } from "../../support/arrivals.ts";

/** What the log has of a mail whose writing ended with this error, which the sender hears of too. */
async function loggedOf(error: unknown): Promise<object[]> {
  const lines: object[] = [];
  const deps = {
    log: pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) }),
    parse: async () => parsedMail(),
    receive: () => Promise.reject(error),
  } as unknown as AcceptDeps;
  const envelope = envelopeTo([{ inboxId: "inb_1", address: "ada@inbox.localhost" } as never]);
  const accepting = mailDoor(deps).accept({ envelope, raw: Buffer.from("Subject: Hi") } as never);
  await expect(accepting).rejects.toBe(error);
  return lines;
}

test("a mail that may be stored although its sender was told to try again is in the log", async () => {
  for (const code of ["CONNECTION_CLOSED", "ECONNRESET"]) {
    const lost = asStoreError(Object.assign(new Error("write failed"), { code }));
    expect(await loggedOf(lost)).toEqual([
      expect.objectContaining({
        level: 40,
        inboxes: ["inb_1"],
        size_bytes: 11,
        msg: "mail refused for now, and it may be stored all the same: the database did not answer",
      }),
    ]);
  }
});

test("a mail that is surely not stored is not called unknown in the log", async () => {
  const away = asStoreError(Object.assign(new Error("refused"), { code: "ECONNREFUSED" }));
  for (const error of [away, new DatabaseUnavailable("it is shutting down", "57P01"), new Error("a bug")])
    expect(await loggedOf(error)).toEqual([]);
});
