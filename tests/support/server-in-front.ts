import { createServer } from "node:net";
import { type RawSmtp, rawSmtp } from "./raw-smtp.ts";
import { untilAnswered } from "./until.ts";

/** A port for a server that must know its port before it starts. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** A session of this client with a mail server in front, once that listens and passes on. */
export function session(port: number, localAddress: string): Promise<RawSmtp> {
  return untilAnswered(async () => {
    const smtp = await rawSmtp(port, "127.0.0.1", localAddress).catch(() => undefined);
    const greeting = await smtp?.reply().catch(() => undefined);
    if (greeting?.startsWith("220")) return smtp;
    smtp?.destroy();
    return undefined;
  });
}
