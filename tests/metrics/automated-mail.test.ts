import { expect, test } from "bun:test";
import type { MailSigns } from "../../src/domain/automated.ts";
import { Refusal } from "../../src/domain/errors.ts";
import type { MailOutcome } from "../../src/domain/receive/inbound-mail.ts";
import { registry } from "../../src/metrics/registry.ts";
import { watch } from "../../src/metrics/watch.ts";
import { envelopeTo, parsedMail } from "../support/arrivals.ts";

test("mail of robots is counted by what it is, when it was stored", async () => {
  const metrics = registry();
  let outcome: MailOutcome = "stored";
  const receive = watch(metrics).receive(async () => outcome);
  const take = (signs: MailSigns, from = "jane@example.com") =>
    receive({ envelope: { ...envelopeTo([]), from }, raw: new Uint8Array(), mail: parsedMail({ signs }) });
  await take({});
  await take({ "list-id": "<a.b>" });
  await take({ "list-id": "<a.b>" });
  await take({}, "");
  outcome = "gone";
  await take({ precedence: "bulk" });
  const counted = (await metrics.text()).split("\n").filter((line) => line.startsWith("inboxd_mails_automated_total{"));
  expect(counted).toEqual(
    Object.entries({
      delivery_report: 0,
      disposition_report: 0,
      complaint_report: 0,
      auto_reply: 0,
      list: 2,
      bulk: 0,
      notification: 1,
    }).map(([kind, count]) => `inboxd_mails_automated_total{kind="${kind}"} ${count}`),
  );
});

test("a reply that is refused as a loop has an outcome of its own", async () => {
  const metrics = registry();

  const refusal = new Refusal("loop_detected", "Cannot send: a loop");
  await watch(metrics).send(async () => ({ kind: "refused", refusal, usage: undefined }))({} as never);
  expect(await metrics.text()).toContain('inboxd_sends_total{outcome="loop",reason="loop_detected"} 1\n');
});
