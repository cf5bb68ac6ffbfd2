import { expect, test } from "bun:test";
import { testListener } from "../support/mail-door.ts";
import { greeted, inData, rawSmtp } from "../support/raw-smtp.ts";

const mailFrom = "MAIL FROM:<jane@example.com>";

test("more mails than the limit are refused for now, in any session of the address", async () => {
  await using smtp = await testListener({ mostMails: 2 });
  const first = await inData(smtp.port);
  expect(await first.ask("x\r\n.")).toStartWith("250");
  const second = await inData(smtp.port);
  expect(await second.ask("x\r\n.")).toStartWith("250");
  const refusal = "451 4.7.1 Too many mails from your address, try again later";
  expect([await first.ask(mailFrom), await second.ask(mailFrom)]).toEqual([refusal, refusal]);
  expect(await first.ask("RCPT TO:<ada@inbox.localhost>")).toStartWith("503");
  const other = await greeted(smtp.port, "127.0.0.7");
  expect(await other.ask(mailFrom)).toStartWith("250");
  expect(smtp.mails).toHaveLength(2);
  expect(smtp.refused).toEqual(["mails_per_address", "mails_per_address"]);
});

test("wrong commands do not count", async () => {
  await using smtp = await testListener({ mostMails: 1 });
  const client = await greeted(smtp.port);
  expect(await client.ask("MAIL FROM:jane")).toStartWith("501");
  expect(await client.ask(mailFrom)).toStartWith("250");
  expect(await client.ask(mailFrom)).toStartWith("503");
});

test("behind a proxy each client that the header names has the limit, and the proxy itself has none", async () => {
  const proxy = "127.0.0.9";
  await using smtp = await testListener({
    proxyProtocol: true,
    mostMails: 1,
    limits: { uncountedAddresses: [proxy] },
  });
  const replies: string[] = [];
  for (const header of ["TCP4 192.0.2.9 127.0.0.1 1 2", "TCP4 192.0.2.9 127.0.0.1 1 2", "UNKNOWN", "UNKNOWN"]) {
    const client = await rawSmtp(smtp.port, "127.0.0.1", proxy);
    client.send(`PROXY ${header}\r\n`);
    await client.reply();
    await client.ask("EHLO client.example");
    replies.push((await client.ask(mailFrom)).slice(0, 3));
  }
  expect(replies).toEqual(["250", "451", "250", "250"]);
});
