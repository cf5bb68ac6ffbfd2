import { expect, test } from "bun:test";
import { providerMessageIdOf } from "../../src/standards/provider-id.ts";

const rows: [server: string, reply: string, id: string | undefined][] = [
  ["Postfix", "250 2.0.0 Ok: queued as 4F5B12C0A1", "4F5B12C0A1"],
  ["Postfix with long ids", "250 2.0.0 Ok: queued as 4ZkXyQ2bTz9vB3", "4ZkXyQ2bTz9vB3"],
  [
    "a content filter before Postfix",
    "250 2.0.0 from MTA(smtp:[127.0.0.1]:10025): 250 2.0.0 Ok: queued as 0CA4412040B",
    "0CA4412040B",
  ],
  ["Exim", "250 OK id=1qDabc-0004Xy-7Z", "1qDabc-0004Xy-7Z"],
  ["Exim since 4.97", "250 OK id=1rXyzA-00000001abc-2QwE", "1rXyzA-00000001abc-2QwE"],
  [
    "Amazon SES",
    "250 Ok 0100018b5c3c0a4f-7fadface-8253-49c5-ba34-dbb320d8a770-000000",
    "0100018b5c3c0a4f-7fadface-8253-49c5-ba34-dbb320d8a770-000000",
  ],
  ["Postmark", "250 2.0.0 Ok: queued as 0a129aee-e1cd-480d-b08d-4f48548ff48d", "0a129aee-e1cd-480d-b08d-4f48548ff48d"],
  ["Mailgun", "250 Great success", undefined],
  [
    "Mailgun with an id",
    "250 Queued. id=<20260321100500.1.8A2B@mg.example.com>",
    "20260321100500.1.8A2B@mg.example.com",
  ],
  ["SendGrid", "250 Ok: queued as nhIMmON9SFOPcT0ii4nt2A", "nhIMmON9SFOPcT0ii4nt2A"],
  ["Mailjet", "250 OK queued as a08b7f37-ed61-423a-ba75-38ed2fd4b54c", "a08b7f37-ed61-423a-ba75-38ed2fd4b54c"],
  ["Brevo", "250 2.0.0 OK: queued as <202603211005.12345@smtp-relay.example>", "202603211005.12345@smtp-relay.example"],
  [
    "Google",
    "250 2.0.0 OK  1774087500 d9443c01a7336-1f7d83a1b2csm12345.45 - gsmtp",
    "d9443c01a7336-1f7d83a1b2csm12345.45",
  ],
  [
    "Yandex",
    "250 2.0.0 Ok: queued on mail.example as 1774087500-6ltgNFKSir-iHEKdOrm",
    "1774087500-6ltgNFKSir-iHEKdOrm",
  ],
  ["Sendmail", "250 2.0.0 62LA5x0a012345 Message accepted for delivery", "62LA5x0a012345"],
  ["OpenSMTPD", "250 2.0.0 4d1f2a3b Message accepted for delivery", "4d1f2a3b"],
  ["Haraka", "250 Message Queued (7E3F2A10-5B6C-4D7E-8F90-A1B2C3D4E5F6.1)", "7E3F2A10-5B6C-4D7E-8F90-A1B2C3D4E5F6.1"],
  ["ZoneMTA", "250 Message queued as 6232416d01542d6b321d000d", "6232416d01542d6b321d000d"],
  ["SparkPost", "250 2.0.0 OK 5C/E4-15934-9F2A3B5C", "5C/E4-15934-9F2A3B5C"],
  ["Stalwart", "250 2.0.0 Message queued with id 2f1a6c3d9b.", "2f1a6c3d9b"],
  [
    "Microsoft 365",
    "250 2.6.0 <1.a@inbox.test> [InternalId=12345678901, Hostname=A.B.prod.outlook.com] 8000 bytes in 0.1, 78 KB/sec Queued mail for delivery",
    "12345678901",
  ],
  [
    "Outlook.com",
    "250 2.0.0 OK <AM0PR01MB1234@AM0PR01MB1234.eurprd01.prod.outlook.com> [Hostname=AM0PR01MB1234.eurprd01.prod.outlook.com]",
    "AM0PR01MB1234@AM0PR01MB1234.eurprd01.prod.outlook.com",
  ],
  ["a server without ids", "250 2.0.0 Ok", undefined],
  ["a server with words only", "250 OK: message queued as requested", undefined],
  ["a courteous server", "250 2.0.0 Ok, thank you for your mail", undefined],
  ["a refusal", "550 5.7.1 Message 4F5B12C0A1 queued as spam1", undefined],
  ["an id without end", `250 Ok: queued as ${"1".repeat(300)}`, undefined],
  ["nothing", "", undefined],
];

test.each(rows)("the id in a reply of %s", (_server, reply, id) => {
  expect(providerMessageIdOf(reply)).toBe(id);
});
