import { afterEach, describe, expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import { readdirSync, readlinkSync } from "node:fs";
import { sql } from "drizzle-orm";
import { dkimVerify } from "mailauth/lib/dkim/verify";
import PostalMime from "postal-mime";
import { query } from "../../src/database/db.ts";
import { dkimSigner, publicKeyRecord } from "../../src/mail/write/dkim.ts";
import { type AttachedFile, attachFiles } from "../support/attached-files.ts";
import { enginesHere } from "../support/engines.ts";
import { accepted, nobodyAnswers, type OutboxWorldOptions, outboxWorld } from "../support/outbox-world.ts";
import { setUpEngine } from "../support/set-up-engine.ts";

type World = Awaited<ReturnType<typeof outboxWorld>>;

const privateKeyPem = String(
  generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ type: "pkcs8", format: "pem" }),
);

/** What no compression makes small, the same in each run. */
function noise(sizeBytes: number): Uint8Array {
  let state = 1;
  return Uint8Array.from({ length: sizeBytes }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state >>> 24;
  });
}

const large: AttachedFile[] = [
  { filename: "video.mp4", bytes: noise((2 << 20) + 12_345), contentType: "video/mp4" },
  { filename: "zeros.bin", bytes: new Uint8Array(1 << 20) },
  { filename: "empty.txt", bytes: new Uint8Array(), contentType: "text/plain" },
];
const small: AttachedFile[] = [{ filename: "größe.pdf", bytes: noise(1000), contentType: "application/pdf" }];

for (const engine of enginesHere()) {
  describe(`Mail with files on its way out, with the ${engine} database`, () => {
    const under = setUpEngine(engine);
    const worlds: World[] = [];

    afterEach(async () => {
      for (const world of worlds.splice(0)) await world.stop(0);
      await query(under.db.api, sql`truncate outbox`);
    });

    async function sent(files: readonly AttachedFile[], to: string, options: OutboxWorldOptions = {}) {
      const world = await outboxWorld(under.db, options);
      worlds.push(world);
      const inbox = await world.newInbox();
      const id = await world.send(inbox, to);
      await attachFiles(under.db.work, id, files);
      return { world, inbox, id };
    }

    test.each([
      ["large, by way of a file", large],
      ["small, in memory", small],
    ])("is relayed whole and signed, with the same bytes at each attempt: %s", async (_what, files) => {
      const signer = await dkimSigner({ domain: "inbox.localhost", selector: "s1", privateKeyPem });
      const { world } = await sent(files, "jane@example.com", { deps: { signMail: async () => signer } });
      world.relay.answer = () => nobodyAnswers;
      await world.start();
      const first = await world.relay.mail(1);
      await world.rested();
      world.relay.answer = () => accepted;
      world.pass(10 * 60_000);
      const second = await world.relay.mail(2);
      await world.emptied();
      expect(Buffer.from(first.raw).equals(Buffer.from(second.raw))).toBe(true);
      expect(first.body.sizeBytes).toBe(first.raw.length);

      const { results } = await dkimVerify(Buffer.from(first.raw), {
        resolver: async () => [[publicKeyRecord(privateKeyPem)]],
      });
      expect(results.map(({ status }) => status.result as string)).toEqual(["pass"]);
      const read = await PostalMime.parse(first.raw);
      expect(read.attachments.map(({ filename, mimeType }) => [filename, mimeType])).toEqual(
        files.map(({ filename, contentType = "application/octet-stream" }) => [filename, contentType]),
      );
      for (const [index, { bytes }] of files.entries()) {
        expect(Buffer.from(read.attachments[index]?.content as ArrayBuffer).equals(Buffer.from(bytes))).toBe(true);
      }
      expect(spoolFiles()).toEqual([]);
    });

    test("goes in by our own door when it is for ourselves", async () => {
      const raws: Uint8Array[] = [];
      const { world, id } = await sent(large, "bot@inbox.localhost", {
        deps: {
          door: {
            recipient: async () => ({ kind: "accept", accountId: "acc_1", inboxId: "inb_1" }),
            accept: async ({ raw }) => {
              raws.push(raw);
              return "stored";
            },
          },
        },
      });
      await world.start();
      await world.emptied();
      expect(await world.message(id)).toMatchObject({ status: "sent" });
      const [raw = new Uint8Array(), ...others] = raws;
      expect(others).toEqual([]);
      const read = await PostalMime.parse(raw);
      expect(read.attachments.map(({ filename }) => filename)).toEqual(large.map(({ filename }) => filename));
      expect(Buffer.from(read.attachments[0]?.content as ArrayBuffer).equals(Buffer.from(large[0]?.bytes ?? []))).toBe(
        true,
      );
    });

    test("waits for another time when its bytes can't be read now, and nothing half is handed on", async () => {
      const { world, id } = await sent(large, "jane@example.com");
      await query(under.db.work, sql`delete from source_chunks where source_id = ${`src_${id.slice(4)}0`} and seq = 2`);
      await world.start();
      await world.rested();
      expect(world.relay.mails).toEqual([]);
      expect(await world.message(id)).toMatchObject({ status: "pending" });
      expect(spoolFiles()).toEqual([]);
    });
  });
}

/** Files without a name that this process has open. */
function spoolFiles(): string[] {
  return readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${fd}`);
      return target.includes("/.answer-") ? [target] : [];
    } catch {
      return [];
    }
  });
}
