import type { Command } from "commander";
import { InboxdError } from "../../sdk/typescript/src/errors.ts";
import type { Schemas } from "../../sdk/typescript/src/inboxd.ts";
import { isIpAddress } from "../standards/ip.ts";
import { reporting } from "./cli.ts";
import { clientOf, ofServer, type ServerOptions } from "./client.ts";

interface IngestOptions extends ServerOptions {
  to: string;
  from?: string;
  clientAddress?: string;
  clientHelo?: string;
}

/**
 * The exit codes by which a mail server knows what to do with a mail (sysexits.h). A fault that its operator can mend is `tryLater`, so
 * that no mail bounces because of a wrong key or an unreachable service.
 */
const sysexits = { usage: 64, data: 65, unknown: 67, tryLater: 75, refused: 77 } as const;

const ofRefusal: Readonly<Record<string, number>> = {
  not_found: sysexits.unknown,
  sender_refused: sysexits.refused,
  mail_loop: sysexits.data,
  payload_too_large: sysexits.data,
  validation_error: sysexits.data,
};

/** Hands in one mail, as a pipe of another mail server. */
export function ingestCommand(program: Command): void {
  reporting(
    ofServer(program.command("ingest"))
      .description(
        "hand in one mail from stdin, as a pipe of another mail server; the exit code says what to do: 0 stored, 67 no such inbox, 77 refused, 65 wrong mail, 64 wrong options, 75 try again",
      )
      .requiredOption("--to <address>", "the recipient")
      .option("--from <address>", "the envelope sender (default: the null sender of a bounce)")
      .option(
        "--client-address <ip>",
        "the server that sent the mail, ignored if it is no IP address; believed with INGEST_TOKEN as the key",
      )
      .option("--client-helo <name>", "the name that this server gave")
      .exitOverride((error) => {
        if (error.exitCode !== 0) process.exitCode = sysexits.usage;
        throw error;
      }),
    ingest,
    ({ recipients }) => recipients[0] ?? {},
  );
}

async function ingest({
  to,
  from,
  clientAddress,
  clientHelo,
  ...server
}: IngestOptions): Promise<Schemas["PostedMail"]> {
  try {
    const client = { clientAddress: isIpAddress(clientAddress ?? "") ? clientAddress : undefined, clientHelo };
    return await clientOf(server).inbound.take(await Bun.stdin.bytes(), { to, from, ...client });
  } catch (error) {
    process.exitCode = (error instanceof InboxdError && ofRefusal[error.code]) || sysexits.tryLater;
    throw error;
  }
}
