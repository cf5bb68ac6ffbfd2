import { expect, test } from "bun:test";
import type { WebhookReply, WebhookRequest } from "../../src/webhook/client.ts";
import { mailHander } from "../../src/webhook/hand-over.ts";

const peer = { host: "c1.example", url: "http://10.0.0.2:3000" };

/** Hands over a mail for two recipients to a cell that answers so; returns the requests and the outcomes, each in a few words. */
async function handedTo(recipients: readonly string[], ...replies: WebhookReply[]) {
  const requests: WebhookRequest[] = [];
  const client = {
    async post(request: WebhookRequest): Promise<WebhookReply> {
      requests.push(request);
      return replies[requests.length - 1] ?? answered(200, {});
    },
  };
  const raw = new TextEncoder().encode("Subject: x\r\n\r\nx");
  const handOver = mailHander({ client, token: "token", cell: "00" });
  const outcomes = await handOver(peer, { envelopeFrom: "jörg@example.com", recipients, raw });
  const said = outcomes.map((outcome) =>
    outcome.kind === "sent"
      ? "sent"
      : `${outcome.kind} ${outcome.failure.code}${outcome.kind === "retry" && outcome.maybeAccepted ? " maybe" : ""}`,
  );
  return { requests, said };
}

const answered = (status: number, body: object): WebhookReply => ({
  kind: "answered",
  status,
  body: JSON.stringify(body),
  retryAfter: undefined,
  latencyMs: 1,
});

const statuses = (...given: string[]) => ({
  recipients: given.map((status, index) => ({ address: `r${index}@c1.example`, status })),
});
const noAnswer = (connected: boolean): WebhookReply => ({ kind: "no_answer", error: "reset", latencyMs: 1, connected });

test.each([
  ["stored and unknown", answered(200, statuses("stored", "unknown")), ["sent", "failed 550"]],
  ["quarantined and full", answered(200, statuses("quarantined", "full")), ["sent", "retry 452"]],
  ["disabled and refused", answered(200, statuses("disabled", "refused")), ["failed 550", "failed 550"]],
  ["a status for one alone", answered(200, statuses("stored")), ["sent", "retry 451"]],
  ["that no recipient is there", answered(404, { code: "not_found", resource: "inbox" }), ["failed 550", "failed 550"]],
  ["that it has no such path", answered(404, { code: "not_found", resource: "route" }), ["retry null", "retry null"]],
  ["that the sender is refused", answered(403, { code: "sender_refused" }), ["failed 550", "failed 550"]],
  ["that there is no room", answered(507, { code: "storage_full" }), ["retry 452", "retry 452"]],
  ["that the mail is too large", answered(413, { code: "payload_too_large" }), ["failed 552", "failed 552"]],
  ["that the token is wrong", answered(401, { code: "unauthorized" }), ["retry null", "retry null"]],
  ["not now", answered(503, { code: "service_unavailable" }), ["retry 451", "retry 451"]],
  ["what is no JSON", { ...answered(502, {}), body: "<html>" }, ["retry null", "retry null"]],
  ["nothing", noAnswer(true), ["retry null maybe", "retry null maybe"]],
  ["no connection", noAnswer(false), ["retry null", "retry null"]],
] as [string, WebhookReply, string[]][])("a cell that answers %s", async (_, reply, said) => {
  expect((await handedTo(["r0@c1.example", "r1@c1.example"], reply)).said).toEqual(said);
});

test("the envelope is percent-encoded, and many recipients take several requests", async () => {
  const recipients = Array.from({ length: 101 }, (_, number) => `ü${number},x@c1.example`);
  const { requests, said } = await handedTo(recipients);
  expect(requests.map(({ url }) => url)).toEqual([`${peer.url}/v1/inbound`, `${peer.url}/v1/inbound`]);
  expect(requests[0]?.headers).toMatchObject({
    authorization: "Bearer token",
    "envelope-from": "j%C3%B6rg@example.com",
    via: "1.1 inboxd-00",
  });
  expect(requests.flatMap(({ headers }) => (headers["envelope-to"] ?? "").split(", ").map(decodeURIComponent))).toEqual(
    recipients,
  );
  expect(said).toEqual(recipients.map(() => "retry 451"));
});

test("a kept connection that had ended is replaced at once", async () => {
  const stale: WebhookReply = { kind: "no_answer", error: "closed", latencyMs: 1, connected: true, stale: true };
  const { requests, said } = await handedTo(["r0@c1.example"], stale, answered(200, statuses("stored")));
  expect(requests.map(({ fresh = false }) => fresh)).toEqual([false, true]);
  expect(said).toEqual(["sent"]);
});
