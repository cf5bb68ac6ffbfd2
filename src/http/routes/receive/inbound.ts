import { type Static, Type } from "@sinclair/typebox";
import { DatabaseUnavailable } from "../../../database/db.ts";
import { type Fault, type Reason, Refusal } from "../../../domain/errors.ts";
import type { MailClient } from "../../../domain/receive/inbound-mail.ts";
import {
  type HeldMail,
  type PostedEnvelope,
  postedStatuses,
  type TakePostedMail,
} from "../../../flows/receive/take-posted-mail.ts";
import { isEnvelopeAddress } from "../../../standards/address.ts";
import { isIpAddress, originOf } from "../../../standards/ip.ts";
import { mediaTypeOfField } from "../../../standards/media-type.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { api } from "../../shell/app.ts";
import type { Account } from "../../shell/auth.ts";
import { inboundPath, refuseDeclaredTooLarge, refuseEncoded, tooLarge } from "../../shell/body.ts";
import { oneOf } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import { brokenBody } from "../../shell/streamed-body.ts";

export interface InboundDeps {
  take: TakePostedMail;
  /** Reads the mail of a request into the memory for mails. `network` is the one that its memory counts for. */
  readMail(
    body: ReadableStream<Uint8Array> | null,
    network: string | undefined,
  ): Promise<HeldMail | { refused: string | undefined }>;
  /** The limit of a mail (SMTP_MAX_BYTES). */
  maxBytes: number;
  /** Called for each mail with its outcome: `taken`, or the code of the refusal. */
  observe: ((outcome: "taken" | Reason) => void) | undefined;
}

const PostedMail = named(
  "PostedMail",
  Type.Object(
    {
      recipients: Type.Array(
        Type.Object({
          address: Type.String({ description: "The address as given", examples: [examples.address] }),
          status: oneOf(postedStatuses, {
            description:
              "`stored` and `quarantined`: the mail is on disk. `unknown`: no such inbox here, or out of reach of the key. `disabled`: the inbox is. `refused`: by a rule or policy of the inbox. `full`: the inbox or its account has used its quota",
            examples: ["stored"],
          }),
        }),
        { description: "What became of the mail for each recipient" },
      ),
    },
    { description: "The mail is on disk for at least one recipient" },
  ),
);

/** The most recipients of a mail, as with SMTP (RFC 5321 §4.5.3.1.8). */
const mostRecipients = 100;

export function inbound(deps: InboundDeps) {
  return api(inboundPath, "Inbound").post(
    "",
    async ({ account, request }): Promise<Static<typeof PostedMail>> => {
      try {
        const envelope = envelopeOf(account, request, deps.maxBytes);
        const recipients = await deps.take(envelope, () => mailOf(deps, request, envelope.client));
        deps.observe?.("taken");
        return { recipients };
      } catch (error) {
        deps.observe?.(refusalReason(error));
        throw error;
      }
    },
    operation({
      summary: "Take mail",
      access: "ingest",
      description:
        "Takes one mail for inboxes of this service, as its SMTP listener does: for hosts without port 25, for a worker at the edge, for a pipe of another mail server. The body is the mail as it is, byte for byte. With a key, the inboxes within its reach get it; with `INGEST_TOKEN` all inboxes, and return paths too. Repeat the request until it answers 200: a mail with the same Message-ID and content is stored once in 7 days.",
      security: ["apiKey", "ingestToken"],
      headers: {
        "Envelope-To": {
          description: `1 to ${mostRecipients} addresses, percent-encoded UTF-8, separated by commas`,
          required: true,
          example: examples.address,
        },
        "Envelope-From": {
          description: "The envelope sender, percent-encoded UTF-8; empty for the null sender of a bounce",
          example: examples.sender,
        },
        "Client-Address": {
          description: "The IP address of the server that sent the mail, for SPF. Believed with `INGEST_TOKEN` alone",
          example: "192.0.2.9",
        },
        "Client-Helo": {
          description: "The name that it gave with EHLO. Believed with `INGEST_TOKEN` alone",
          example: "mail.example.com",
        },
        Via: {
          description:
            "The cells that have handed the mail over, so that it goes around in no circle. Believed with `INGEST_TOKEN` alone",
          example: "1.1 inboxd-00",
        },
      },
      otherBodies: {
        "message/rfc822": {
          schema: { description: "The mail (RFC 5322)" },
          example: `From: ${examples.sender}\r\nTo: ${examples.address}\r\nSubject: Hi\r\n\r\nHello\r\n`,
        },
      },
      refuses: [
        "validation_error",
        "unsupported_media_type",
        "not_found",
        "inbox_disabled",
        "sender_refused",
        "mail_loop",
        "storage_full",
      ],
      answers: { 200: PostedMail },
    }),
  );
}

function refusalReason(error: unknown): Reason {
  if (error instanceof Refusal) return error.reason;
  return error instanceof DatabaseUnavailable ? "service_unavailable" : "internal_error";
}

/** The envelope in the headers of a request. `account` is undefined with INGEST_TOKEN. */
function envelopeOf(account: Account | undefined, request: Request, maxBytes: number): PostedEnvelope {
  const { headers } = request;
  if (mediaTypeOfField(headers.get("content-type") ?? "") !== "message/rfc822") {
    throw new Refusal("unsupported_media_type", "Cannot take mail: its Content-Type must be message/rfc822");
  }
  refuseEncoded(request);
  refuseDeclaredTooLarge(request, { maxBytes });
  const faults: Fault[] = [];
  const fault = (parameter: string, detail: string) => void faults.push({ parameter, detail });
  const to = (headers.get("envelope-to") ?? "").split(",").map((part) => decoded(part.trim()));
  const from = decoded((headers.get("envelope-from") ?? "").trim());
  const recipients = [...new Map(to.map((address) => [address?.toLowerCase(), address])).values()].flatMap(
    (one) => one ?? [],
  );
  if (to.length > mostRecipients) fault("Envelope-To", `must have at most ${mostRecipients} addresses`);
  else if (!to.every(isAddress))
    fault("Envelope-To", "must be addresses in percent-encoded UTF-8, separated by commas");
  if (from !== "" && !isAddress(from)) fault("Envelope-From", "must be one address in percent-encoded UTF-8, or empty");
  const client =
    account === undefined
      ? clientOf(headers, fault)
      : { network: account.id, heloName: "", secure: false, isProxy: false };
  if (faults.length > 0 || from === undefined) {
    throw new Refusal("validation_error", "Cannot take mail: its envelope is wrong", { faults });
  }
  return { from, to: recipients, client, reach: account?.reach };
}

/** The client that a caller with INGEST_TOKEN names. */
function clientOf(headers: Headers, fault: (parameter: string, detail: string) => void): MailClient {
  const given = headers.get("client-address");
  const heloName = (headers.get("client-helo") ?? "").toLowerCase();
  if (given !== null && !isIpAddress(given)) fault("Client-Address", "must be an IP address");
  if (!/^[\x21-\x7e]{0,255}$/.test(heloName)) fault("Client-Helo", "must be one name");
  const { host, network } = given === null ? { host: undefined, network: "ingest" } : originOf(given);
  const cells = [...(headers.get("via") ?? "").matchAll(cellInVia)].map(([, cell = ""]) => cell);
  return {
    address: host,
    network,
    heloName,
    secure: false,
    isProxy: false,
    isTrusted: true,
    ...(cells.length > 0 && { cells }),
  };
}

/** An entry of `Via` (RFC 9110 §7.6.3) by a cell that has handed the mail over. */
const cellInVia = /\binboxd-([0-9A-Za-z]{2})\b/g;

function isAddress(text: string | undefined): boolean {
  return text !== undefined && isEnvelopeAddress(text);
}

/** The text of a percent-encoded part of a header; undefined if it is malformed. */
function decoded(part: string): string | undefined {
  if (!/^[\x20-\x7e]*$/.test(part)) return undefined;
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

async function mailOf(
  { readMail, maxBytes }: InboundDeps,
  request: Request,
  { network }: MailClient,
): Promise<HeldMail> {
  const mail = await readMail(request.body, network);
  if ("raw" in mail) return mail;
  switch (mail.refused) {
    case "too_big":
      throw tooLarge({ maxBytes });
    case "mail_loop":
      throw new Refusal("mail_loop", "Cannot take mail: it has more than 100 Received headers");
    case "timeout":
      throw brokenBody("it came too slowly");
    case "broken":
      throw brokenBody("it ended too early");
    default:
      throw new Refusal("service_unavailable", "Cannot take mail: too many large mails at once", {
        retryAfterSeconds: 10,
        headers: { connection: "close" },
      });
  }
}
