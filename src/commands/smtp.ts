import { smtpRelay } from "../relay/relay.ts";
import { bytesBody } from "../relay/relayed-mail.ts";
import { UsageError } from "./failure.ts";

/** The SMTP listener of a service. */
export interface SmtpServer {
  host: string;
  port: number;
}

/** The listener that `--smtp` names: by default the usual port on the host of the API. */
export function smtpServer(smtp: string | undefined, baseUrl: string): SmtpServer {
  const { hostname } = new URL(baseUrl);
  const [, host = hostname, port = "2525"] = /^(?:(.+):)?(\d+)$/.exec(smtp ?? "2525") ?? [];
  if (smtp !== undefined && (!/^(?:.+:)?\d{1,5}$/.test(smtp) || Number(port) > 65_535))
    throw new UsageError("Cannot read --smtp: it must be HOST:PORT, with a port up to 65535");
  return { host: host.replace(/^\[|\]$/g, ""), port: Number(port) };
}

export interface HandedInMail {
  envelopeFrom: string;
  to: string;
  raw: Uint8Array;
}

/** Hands in a mail like another mail server. Returns the reply to it. */
export async function handIn(server: SmtpServer, { envelopeFrom, to, raw }: HandedInMail): Promise<string> {
  const way = { kind: "smtp", ...server, tls: "opportunistic", login: undefined } as const;
  const relay = smtpRelay(way, { hostname: "demo.localhost" });
  try {
    const [outcome] = await relay.send({
      envelopeFrom,
      recipients: [{ address: to }],
      body: bytesBody(raw),
      smtpUtf8: false,
    });
    if (outcome?.kind === "sent") return outcome.reply;
    throw new Error(`Cannot send mail to ${server.host}:${server.port}: ${outcome?.failure.message}`);
  } finally {
    await relay.close();
  }
}
