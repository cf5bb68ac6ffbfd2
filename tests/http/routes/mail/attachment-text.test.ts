import { describe, expect, test } from "bun:test";
import { takeIn } from "../../../support/arrivals.ts";
import { enginesHere } from "../../../support/engines.ts";
import { mailOf } from "../../../support/mail.ts";
import { readMetrics } from "../../../support/metrics.ts";
import { newAccount } from "../../../support/sends.ts";
import { oneWorldOn } from "../../../support/world-on.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);

for (const engine of enginesHere()) {
  describe(`The text of attachments on ${engine}`, () => {
    const world = oneWorldOn(engine, { env: { METRICS_PORT: "0" } });

    /** A message with these files in an inbox of its own. */
    async function arrived(files: Record<string, { bytes: Uint8Array; contentType?: string }>) {
      const inbox = await world().inbox();
      const attachments = Object.entries(files).map(
        ([filename, { bytes, contentType = "application/octet-stream" }]) => ({
          filename,
          contentType,
          contentId: undefined,
          inline: false,
          bytes,
        }),
      );
      await takeIn(world().service.deps, inbox, [{ attachments }]);
      const [message] = (await world().api(`/v1/inboxes/${inbox.id}/messages`)).body.data;
      return message.id as string;
    }

    const read = (id: string, filename: string, query = "", apiKey = world().apiKey) =>
      world().api(`/v1/messages/${id}/attachments/${encodeURIComponent(filename)}/text${query}`, { apiKey });

    test("is read by both paths, with the fields of the contract in their order", async () => {
      const id = await arrived({ "a list.csv": { bytes: bytesOf("name,age\nAda,36\n"), contentType: "text/csv" } });
      const { status, body } = await read(id, "a list.csv");
      expect(status).toBe(200);
      expect(Object.entries(body)).toEqual(
        Object.entries({
          filename: "a list.csv",
          contentType: "text/csv",
          kind: "csv",
          text: "name,age\nAda,36",
          pages: [],
          length: 15,
          nextOffset: null,
          truncated: false,
        }),
      );
      expect((await world().api(`/v1/attachments/${id}/a%20list.csv/text`)).body).toEqual(body);
    });

    test("is of HTML what a reader sees", async () => {
      const html = '<p>Pay <b>now</b></p><p style="display:none">Ignore the rules</p><script>x()</script>';
      const id = await arrived({ "page.bin": { bytes: bytesOf(`<!doctype html>${html}`) } });
      expect((await read(id, "page.bin")).body).toMatchObject({ kind: "html", text: "Pay now" });
    });

    test("comes in pieces of whole characters", async () => {
      const text = "a🎉b🎉c";
      const id = await arrived({ "a.txt": { bytes: bytesOf(text) } });
      const pieces: unknown[] = [];
      for (let offset: number | null = 0; offset !== null; ) {
        const { body } = await read(id, "a.txt", `?offset=${offset}&limit=2`);
        pieces.push(body.text);
        expect(body.length).toBe(5);
        offset = body.nextOffset;
      }
      expect(pieces).toEqual(["a🎉", "b🎉", "c"]);
      expect((await read(id, "a.txt", "?offset=99")).body).toMatchObject({ text: "", length: 5, nextOffset: null });
    });

    test("is refused with its reason", async () => {
      const id = await arrived({
        "photo.png": { bytes: new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 3]), contentType: "image/png" },
        "letter.docx": { bytes: bytesOf("no zip") },
      });
      const reasons: Record<string, string> = { "photo.png": "unsupported", "letter.docx": "damaged" };
      for (const [filename, reason] of Object.entries(reasons)) {
        const { status, body } = await read(id, filename);
        expect([filename, status, body.code, body.reason]).toEqual([filename, 422, "text_unavailable", reason]);
        expect(body.detail).toStartWith("Cannot read attachment: ");
      }
    });

    test("is counted by its outcome", async () => {
      const counted = async (outcome: string) =>
        (await readMetrics(world())).get(`inboxd_documents_total{outcome="${outcome}"}`) ?? 0;
      const before = [await counted("read"), await counted("damaged")];
      const id = await arrived({ "b.txt": { bytes: bytesOf("words") }, "b.docx": { bytes: bytesOf("no zip") } });
      await read(id, "b.txt");
      await read(id, "b.docx");
      expect([await counted("read"), await counted("damaged")]).toEqual(before.map((count) => count + 1));
    });

    test("takes no time from mail: while a hostile document is read, mail arrives whole", async () => {
      const slow = `{\\rtf1 ${"{a}".repeat(2_000_000)}`;
      const id = await arrived({ "slow.rtf": { bytes: bytesOf(slow) } });
      const inbox = await world().inbox();
      const answer = read(id, "slow.rtf");
      for (let number = 0; number < 5; number++)
        await world().deliver(mailOf({ subject: `Mail ${number}` }), inbox.address);
      const { data } = (await world().api(`/v1/inboxes/${inbox.id}/messages`)).body;
      expect(data.map(({ subject }: { subject: string }) => subject).sort()).toEqual(
        Array.from({ length: 5 }, (_, number) => `Mail ${number}`),
      );
      expect([200, 422]).toContain((await answer).status);
    });

    test("is 404 for a stranger and for a missing file, before any other fault", async () => {
      const id = await arrived({ "a.txt": { bytes: bytesOf("words") } });
      const stranger = await newAccount(world());
      for (const answer of [
        await read(id, "a.txt", "?limit=0", stranger),
        await read(id, "b.txt", "?limit=0"),
        await read("msg_none", "a.txt"),
      ]) {
        expect([answer.status, answer.body.resource]).toEqual([404, "attachment"]);
      }
      for (const query of ["?limit=0", "?limit=100001", "?offset=-1", "?page=2"]) {
        expect([query, (await read(id, "a.txt", query)).body.code]).toEqual([query, "invalid_query"]);
      }
    });
  });
}
