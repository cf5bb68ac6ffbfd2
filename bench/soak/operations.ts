import { type RawSmtp, rawSmtp } from "../../tests/support/raw-smtp.ts";

/** The mixed operations of callers and mail servers. Each throws unless the answer is right. */
export interface Operation {
  name: string;
  /** Its share among the operations. */
  weight: number;
  run(number: number): Promise<void>;
}

export interface SoakTarget {
  apiUrl: string;
  apiKey: string;
  smtpPort: number;
}

export async function newOperations({ apiUrl, apiKey, smtpPort }: SoakTarget): Promise<Operation[]> {
  const idleClients: RawSmtp[] = [];

  async function ask(method: string, path: string, body?: object, headers: Record<string, string> = {}) {
    const response = await fetch(`${apiUrl}/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json", ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status}`);
    return answer as Record<string, unknown>;
  }

  const inboxes: { id: string; address: string }[] = [];
  for (let number = 0; number < 20; number += 1) {
    inboxes.push((await ask("POST", "/inboxes", {})) as unknown as { id: string; address: string });
  }
  const inboxOf = (number: number) => inboxes[number % inboxes.length] ?? { id: "", address: "" };

  async function receive(number: number): Promise<void> {
    const client = idleClients.pop() ?? (await newClient(smtpPort));
    const commands = ["MAIL FROM:<soak@mta.example>", `RCPT TO:<${inboxOf(number).address}>`, "DATA", mailOf(number)];
    for (const command of commands) {
      const reply = await client.ask(command);
      if (!/^[23]/.test(reply)) throw new Error(`${command.slice(0, 40)} was answered ${reply}`);
    }
    // Every hundredth mail is the last of its connection, as from real servers.
    if (number % 100 === 0) client.destroy();
    else idleClients.push(client);
  }

  async function readUnread(number: number): Promise<void> {
    const { data } = await ask("GET", `/inboxes/${inboxOf(number).id}/threads?is_read=false&limit=5`);
    for (const { id } of data as { id: string }[]) {
      await ask("GET", `/threads/${id}/messages`);
      await ask("PATCH", `/threads/${id}`, { is_read: true });
    }
  }

  return [
    { name: "receive", weight: 4, run: receive },
    {
      name: "send",
      weight: 2,
      async run(number) {
        const body = { to: `someone${number}@far.example`, subject: `Soak ${number}`, body: "Hello\n".repeat(20) };
        const headers = { "idempotency-key": `soak-${number}`, prefer: "respond-async" };
        await ask("POST", `/inboxes/${inboxOf(number).id}/send`, body, headers);
      },
    },
    { name: "read", weight: 2, run: readUnread },
    {
      name: "list",
      weight: 3,
      async run(number) {
        await ask("GET", `/inboxes/${inboxOf(number).id}/messages?limit=20`);
      },
    },
  ];
}

async function newClient(port: number): Promise<RawSmtp> {
  const client = await rawSmtp(port);
  await client.reply();
  await client.ask("EHLO soak.example");
  return client;
}

function mailOf(number: number): string {
  const head = [
    "From: soak@mta.example",
    `Subject: Soak ${number}`,
    `Message-ID: <soak${number}@mta.example>`,
    ...(number % 3 === 0 && number > 60 ? [`In-Reply-To: <soak${number - 60}@mta.example>`] : []),
  ];
  return [...head, "", ..."A line of text in a mail of some kilobytes\n".repeat(60).split("\n"), "."].join("\r\n");
}
