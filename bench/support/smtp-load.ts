/** SMTP sessions that hand in mail after mail, and each time from the final dot to the 250. */
export interface SmtpLoad {
  port: number;
  sessions: number;
  mails: number;
  /** The mail with this number, without the final dot. */
  mail: (number: number) => Uint8Array | string;
  to: (number: number) => string;
  /** The sender in the envelope; jane@example.com if there is none. */
  from?: (number: number) => string;
}

export interface SmtpLoadResult {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
}

/** Kept connections, so that a mail's time is that of its commit. */
export async function smtpLoad({
  port,
  sessions,
  mails,
  mail,
  to,
  from = () => "jane@example.com",
}: SmtpLoad): Promise<SmtpLoadResult> {
  const latencies: number[] = [];
  let next = 0;
  const startedMs = performance.now();

  async function session(): Promise<void> {
    const line = await connected(port);
    await line.ask("");
    await line.ask("EHLO bench.localhost\r\n");
    for (let number = next++; number < mails; number = next++) {
      await line.ask(`MAIL FROM:<${from(number)}>\r\n`);
      await line.ask(`RCPT TO:<${to(number)}>\r\n`);
      await line.ask("DATA\r\n");
      line.write(mail(number));
      const sentMs = performance.now();
      const answer = await line.ask("\r\n.\r\n");
      if (!answer.startsWith("250")) throw new Error(`Cannot deliver: ${answer}`);
      latencies.push(performance.now() - sentMs);
    }
    line.end();
  }

  await Promise.all(Array.from({ length: sessions }, session));
  const perSecond = (mails / (performance.now() - startedMs)) * 1000;
  latencies.sort((left, right) => left - right);
  const at = (share: number) => latencies[Math.floor(latencies.length * share)] ?? Number.NaN;
  return { perSecond, p50Ms: at(0.5), p99Ms: at(0.99) };
}

interface Line {
  write(octets: Uint8Array | string): void;
  /** Writes, and resolves with the next whole reply. */
  ask(octets: string): Promise<string>;
  end(): void;
}

async function connected(port: number): Promise<Line> {
  let waiting = nextReply();
  let received = "";
  let unsent: Buffer = Buffer.alloc(0);
  const socket = await Bun.connect({
    hostname: "127.0.0.1",
    port,
    socket: {
      data(_socket, chunk) {
        received += chunk.toString("latin1");
        if (!/^\d{3} .*\r\n$/m.test(received)) return;
        const reply = received;
        received = "";
        const { resolve } = waiting;
        waiting = nextReply();
        resolve(reply);
      },
      drain: flush,
      close: () => waiting.reject(new Error("The connection ended before a reply")),
      error: (_socket, error) => waiting.reject(error),
    },
  });
  function flush(): void {
    while (unsent.length > 0) {
      const written = socket.write(unsent);
      if (written <= 0) return;
      unsent = unsent.subarray(written);
    }
  }

  function write(octets: Uint8Array | string): void {
    unsent = unsent.length === 0 ? Buffer.from(octets) : Buffer.concat([unsent, Buffer.from(octets)]);
    flush();
  }

  return {
    write,
    ask(octets) {
      const { promise } = waiting;
      if (octets !== "") write(octets);
      return promise;
    },
    end: () => void socket.end(),
  };
}

/** A pending reply without a reader may fail silently. */
function nextReply(): PromiseWithResolvers<string> {
  const next = Promise.withResolvers<string>();
  next.promise.catch(() => undefined);
  return next;
}

/** Unique mails of about this size, with text of real words. */
export function plainMails(sizeBytes: number): (number: number) => string {
  const words = "the of and to in is that for it as was with be by on not he his but at are this have from or had an";
  const vocabulary = words.split(" ");
  let seed = 1;
  const word = () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return `${vocabulary[(seed >> 8) % vocabulary.length]}${(seed >> 16) % 50 === 0 ? seed.toString(36) : ""}`;
  };
  const bodies = Array.from({ length: 64 }, () => {
    let text = "";
    while (text.length < sizeBytes) text += `${Array.from({ length: 11 }, word).join(" ")}\r\n`;
    return text;
  });
  return (number) =>
    `From: Jane Doe <jane@example.com>\r\nTo: ada@inbox.localhost\r\nSubject: Mail ${number}\r\n` +
    `Date: Sat, 21 Mar 2026 10:05:00 +0000\r\nMessage-ID: <${number}.${process.pid}.${performance.timeOrigin}@example.com>\r\n` +
    `MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n${number}\r\n${bodies[number % bodies.length]}`;
}
