/** Mail by HTTP beside mail by SMTP, both with kept connections and in turns: `bun bench/inbound.ts`; DATABASE=embedded for the other database. */
import { onEngine, startDatabase } from "./support/database.ts";
import { load, median } from "./support/load.ts";
import { cpuMs, untilAtRest } from "./support/process-usage.ts";
import { report } from "./support/report.ts";
import { startServiceProcess } from "./support/service.ts";
import { plainMails, smtpLoad } from "./support/smtp-load.ts";

const rounds = Number(process.env.ROUNDS ?? 5);
const mailsARun = Number(process.env.MAILS ?? 4_000);
const sessions = 20;

const database = await startDatabase(["shared_buffers=128MB"]);
try {
  await using service = await startServiceProcess(database.environment);
  const { apiUrl, apiKey, smtpPort, pid } = service;
  const headers = { authorization: `Bearer ${apiKey}` };
  const inboxes = await Promise.all(
    Array.from({ length: 5 }, async () => {
      const made = await fetch(`${apiUrl}/v1/inboxes`, { method: "POST", headers });
      return ((await made.json()) as { address: string }).address;
    }),
  );
  const to = (number: number) => inboxes[number % inboxes.length] ?? "";
  const pids = database.pid === undefined ? [pid] : [pid, database.pid];
  let sent = 0;
  /** The number of the first of these new mails. */
  const nextNumber = (mails: number) => {
    sent += mails;
    return sent;
  };

  for (const [size, sizeBytes] of [
    ["5 KiB", 5 << 10],
    ["100 KiB", 100 << 10],
  ] as const) {
    const mails = sizeBytes > 50_000 ? mailsARun / 4 : mailsARun;
    const mail = plainMails(sizeBytes);
    const ways = {
      async smtp() {
        const first = nextNumber(mails);
        return (await smtpLoad({ port: smtpPort, sessions, mails, to, mail: (number) => mail(first + number) }))
          .perSecond;
      },
      async http() {
        const first = nextNumber(mails);
        const posted = await load({
          url: `${apiUrl}/v1/inbound`,
          method: "POST",
          headers: { ...headers, "content-type": "message/rfc822", "envelope-from": "jane@example.com" },
          headersOf: (number) => ({ "envelope-to": to(number) }),
          body: (number) => mail(first + number),
          connections: sessions,
          requests: mails,
        });
        if (posted.statuses["200"] !== mails) throw new Error(`Not all were taken: ${JSON.stringify(posted.statuses)}`);
        return posted.perSecond;
      },
    };
    const rates = { smtp: [] as number[], http: [] as number[] };
    const micros = { smtp: [] as number[], http: [] as number[] };
    for (let round = 0; round <= rounds; round += 1) {
      for (const way of ["smtp", "http"] as const) {
        const before = cpuMs(pid);
        const perSecond = await ways[way]();
        if (round > 0) {
          rates[way].push(perSecond);
          micros[way].push(((cpuMs(pid) - before) * 1000) / mails);
        }
        await untilAtRest(pids);
      }
    }
    report({
      what: `${size} by HTTP${onEngine}`,
      value: median(rates.http),
      unit: "mails/s",
      beside: [{ name: "by SMTP", value: median(rates.smtp) }],
      target: { ratio: { atLeast: 0.8 } },
      note: `CPU ${Math.round(median(micros.http))} µs a mail, by SMTP ${Math.round(median(micros.smtp))} µs`,
    });
  }
} finally {
  await database.remove();
}
