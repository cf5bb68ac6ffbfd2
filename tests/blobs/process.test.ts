import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openBlobStore } from "../../src/blobs/blob-store.ts";
import { readConfig } from "../../src/config.ts";
import { openDatabase } from "../../src/database/db.ts";
import { idMaker } from "../../src/domain/ids.ts";
import { packSources } from "../../src/flows/pack-sources.ts";
import { emptyDatabase } from "../support/database.ts";
import { enginesHere } from "../support/engines.ts";
import { runInboxd, startInboxd } from "../support/inboxd.ts";
import { haveObjectStore, startObjectStore } from "../support/object-store.ts";
import { deliver } from "../support/world.ts";

const apiKey = "key-of-the-first-account-in-tests";

/** The program of this run, which may be the binary. */
test.if(haveObjectStore()).each(enginesHere())(
  "the program reads packed mail, and its doctor tries the store (%s)",
  async (engine) => {
    await using store = await startObjectStore();
    const dataDir = mkdtempSync(join(tmpdir(), "ibx-packed-"));
    const made = engine === "postgres" ? await emptyDatabase() : undefined;
    const database = { DATA_DIR: dataDir, API_KEY: apiKey, ...(made !== undefined && { DATABASE_URL: made.url }) };
    try {
      const before = await startInboxd({ env: database });
      const inbox = await (await before.request("POST", "/v1/inboxes", {}, apiKey)).json();
      const raw = `From: jane@example.com\r\nSubject: Packed\r\n\r\n${"Hello. ".repeat(2000)}\r\n`;
      expect(await deliver(before.smtpPort, raw, inbox.address)).toStartWith("250");
      const { data } = await (
        await before.request("GET", `/v1/inboxes/${inbox.id}/messages`, undefined, apiKey)
      ).json();
      const path = `/v1/messages/${data[0].id}/raw`;
      const whole = await (await before.request("GET", path, undefined, apiKey)).text();
      await before.stop();

      const { blobs: settings } = readConfig(store.env);
      const blobs = settings && openBlobStore(settings);
      if (blobs === undefined) throw new Error("no object store");
      const db = await openDatabase({ dataDir, url: made?.url, blobs });
      const randomBytes = (length: number) => crypto.getRandomValues(new Uint8Array(length));
      const now = () => new Date(Date.now() + 3 * 3_600_000);
      const deps = { db, now, newId: idMaker(randomBytes), randomBytes, blobs, blobsAfterMinutes: 60 };
      for (let next: string | undefined = ""; next !== undefined; ) next = await packSources(deps, next);
      await db.close();
      expect(await store.names()).toHaveLength(1);

      const after = await startInboxd({ env: { ...database, ...store.env } });
      expect(await (await after.request("GET", path, undefined, apiKey)).text()).toBe(whole);
      await after.stop();
      const without = await startInboxd({ env: database });
      const refused = await without.request("GET", path, undefined, apiKey);
      expect([refused.status, (await refused.json()).code]).toEqual([503, "service_unavailable"]);
      await without.stop();

      const { stdout } = await runInboxd(["doctor", "--json"], {
        env: { ...database, ...store.env, PORT: "0", SMTP_PORT: "0" },
      });
      const { findings } = JSON.parse(stdout) as { findings: { check: string; level: string }[] };
      expect(findings.find(({ check }) => check === "object store")).toMatchObject({ level: "ok" });
      expect(await store.names()).toHaveLength(1);
    } finally {
      await made?.drop();
      rmSync(dataDir, { recursive: true, force: true });
    }
  },
  120_000,
);
