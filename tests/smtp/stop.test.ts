import { expect, test } from "bun:test";
import { fairly } from "../support/fair-time.ts";
import { testListener } from "../support/mail-door.ts";
import { greeted, inData, rawSmtp } from "../support/raw-smtp.ts";

const start = (reply: string): string => reply.split(" ").slice(0, 2).join(" ");

test("stop ends idle sessions at once, and mails in DATA get their 250", async () => {
  await using smtp = await testListener();
  const idle = await greeted(smtp.port);
  const begun = await greeted(smtp.port);
  await begun.ask("MAIL FROM:<>");
  const silent = await rawSmtp(smtp.port);
  await silent.reply();
  const sending = await inData(smtp.port);
  sending.send("Subject: in flight\r\n");

  const stopped = smtp.listener.stop(5_000);
  for (const client of [idle, begun, silent]) {
    expect(start(await client.reply())).toBe("421 4.3.2");
    await client.closed;
  }
  expect(
    await rawSmtp(smtp.port).then(
      () => "connected",
      () => "refused",
    ),
  ).toBe("refused");
  sending.send("\r\nrest\r\n.\r\nMAIL FROM:<>\r\n");
  expect((await sending.replies(2)).map(start)).toEqual(["250 2.0.0", "421 4.3.2"]);
  await sending.closed;
  await stopped;
  expect([smtp.mails.length, smtp.listener.sessions]).toEqual([1, 0]);
});

test("a mail that is being stored is answered before the stop ends, and then its session ends", async () => {
  await using smtp = await testListener({ limits: { sweepMs: 60_000 } });
  const stored = Promise.withResolvers<{ kind: "stored" }>();
  const asked = Promise.withResolvers<void>();
  smtp.door.accept = () => {
    asked.resolve();
    return stored.promise;
  };
  const client = await inData(smtp.port);
  client.send("x\r\n.\r\n");
  await asked.promise;
  const stopped = smtp.listener.stop(5_000);
  stored.resolve({ kind: "stored" });
  expect((await client.replies(2)).map(start)).toEqual(["250 2.0.0", "421 4.3.2"]);
  await stopped;
});

test("a mail that is not complete after the grace time is cut off without a 250", async () => {
  await using smtp = await testListener();
  const client = await inData(smtp.port);
  client.send("Subject: never ends\r\n");
  await smtp.listener.stop(30);
  expect(start(await client.reply())).toBe("421 4.3.2");
  await client.closed;
  expect([smtp.mails, smtp.listener.heldBytes, smtp.listener.sessions]).toEqual([[], 0, 0]);
});

test("a listener that accepts no more connections still serves the open ones", async () => {
  await using smtp = await testListener();
  const client = await greeted(smtp.port);
  smtp.listener.stopAccepting();
  expect(
    await rawSmtp(smtp.port).then(
      () => "connected",
      () => "refused",
    ),
  ).toBe("refused");
  expect(start(await client.ask("NOOP"))).toBe("250 2.0.0");
});

test("stop without sessions takes no time, and a second call does nothing", async () => {
  await using smtp = await testListener();
  const { fairMs } = await fairly(() => Promise.all([smtp.listener.stop(5_000), smtp.listener.stop(5_000)]));
  expect(fairMs).toBeLessThan(500);
});
