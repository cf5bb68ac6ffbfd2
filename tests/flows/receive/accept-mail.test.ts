import { expect, test } from "bun:test";
import pino from "pino";
import { DatabaseUnavailable } from "../../../src/database/db.ts";
import { asStoreError } from "../../../src/database/unavailable.ts";
import { type AcceptDeps, mailDoor } from "../../../src/flows/receive/accept-mail.ts";
import { envelopeTo, parsedMail } from "../../support/arrivals.ts";
import { failureOf } from "../../support/failure.ts";

/** The log entries for a mail whose write failed with this error. */
async function loggedOf(error: unknown): Promise<object[]> {
  const lines: object[] = [];
  const deps = {
    now: () => new Date(0),
    log: pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) }),
    parse: async () => parsedMail(),
    authenticate: async () => undefined,
    receive: () => Promise.reject(error),
  } as unknown as AcceptDeps;
  const envelope = envelopeTo([{ inboxId: "inb_1", address: "ada@inbox.localhost" } as never]);
  const accepting = mailDoor(deps).accept({ envelope, raw: Buffer.from("Subject: Hi") } as never);
  expect(await failureOf(accepting)).toBe(error);
  return lines;
}

test("a mail that may be stored although its sender was asked to retry is logged", async () => {
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

test("a mail that is certainly not stored is not logged as unknown", async () => {
  const away = asStoreError(Object.assign(new Error("refused"), { code: "ECONNREFUSED" }));
  for (const error of [away, new DatabaseUnavailable("it is shutting down", "57P01"), new Error("a bug")])
    expect(await loggedOf(error)).toEqual([]);
});
