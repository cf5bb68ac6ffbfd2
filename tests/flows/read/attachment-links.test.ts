import { expect, test } from "bun:test";
import { attachmentLinks } from "../../../src/flows/read/attachment-links.ts";

const settings = { signingKey: "k".repeat(32), ttlSeconds: 900, cell: "00", baseUrl: () => "http://localhost" };
const links = await attachmentLinks(settings);
const at = (ms: number) => new Date(Date.parse("2026-03-21T10:05:00.001Z") + ms);
const signatureOf = async (messageId: string, filename: string, now: Date) => {
  const { url } = await links.attachmentUrl(messageId, filename, now);
  const { searchParams } = new URL(url);
  return { expires: searchParams.get("expires"), signature: searchParams.get("signature") ?? "" };
};

test("Links that expire in the same second are the same, and others have different signatures", async () => {
  const first = await signatureOf("msg_1", "a b.pdf", at(0));
  expect(await signatureOf("msg_1", "a b.pdf", at(999))).toEqual(first);
  const others = await Promise.all([
    signatureOf("msg_1", "b.pdf", at(0)),
    signatureOf("msg_1 a", "b.pdf", at(0)),
    signatureOf("msg_2", "a b.pdf", at(0)),
    signatureOf("msg_1", "a b.pdf", at(1000)),
  ]);
  expect(new Set([first, ...others].map(({ signature }) => signature)).size).toBe(5);
  for (const [index, [messageId, filename]] of [
    ["msg_1", "b.pdf"],
    ["msg_1 a", "b.pdf"],
    ["msg_2", "a b.pdf"],
    ["msg_1", "a b.pdf"],
  ].entries()) {
    const link = { messageId: messageId ?? "", filename: filename ?? "", expires: "", signature: "", ...others[index] };
    expect(await links.judge(link, at(0))).toBe("valid");
  }
});

test("A link is signed for its own second, also after the clock was set back", async () => {
  const later = await signatureOf("msg_1", "a.pdf", at(1000));
  const earlier = await signatureOf("msg_1", "a.pdf", at(0));
  expect(earlier.signature).not.toBe(later.signature);
  expect(await links.judge({ messageId: "msg_1", filename: "a.pdf", ...earlier }, at(0))).toBe("valid");
});

test("A link names the cell outside of its signature, so it is valid in every cell with the same key", async () => {
  const elsewhere = await attachmentLinks({ ...settings, cell: "b7" });
  const [here, there] = await Promise.all(
    [links, elsewhere].map(async (each) => new URL((await each.attachmentUrl("msg_1", "a.pdf", at(0))).url)),
  );
  expect([here?.searchParams.get("cell"), there?.searchParams.get("cell")]).toEqual(["00", "b7"]);
  there?.searchParams.set("cell", "00");
  expect(there?.href).toBe(here?.href ?? "");
});
