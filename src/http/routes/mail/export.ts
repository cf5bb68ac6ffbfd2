import { Type } from "@sinclair/typebox";
import { Refusal } from "../../../domain/errors.ts";
import { auditEntriesOf } from "../../../flows/audit.ts";
import { collectStreamed } from "../../../flows/collect-garbage.ts";
import type { Deps } from "../../../flows/deps.ts";
import { exportedInbox, inboxFormats } from "../../../flows/move/export-inbox.ts";
import { inboxAddress } from "../../../standards/address.ts";
import { attachmentDisposition } from "../../../standards/content-disposition.ts";
import { insertAuditEntries } from "../../../store/account/audit.ts";
import { api } from "../../shell/app.ts";
import { whetherThere } from "../../shell/described-operation.ts";
import { oneOf } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import { inboxPath, ownedInbox } from "../account/inboxes.ts";
import { ownedTotals } from "./messages.ts";
import { untrustedHeaders } from "./stored-bytes.ts";

export interface ExportDeps extends Deps {
  /** Lets the answer take as long as the client reads. */
  mayTakeLong(request: Request): void;
}

/** The exports that one process answers at a time. */
const mostExports = 8;

/** An export whose client reads nothing for this long is broken off, so that it does not keep others from theirs. */
const longestStallMs = 60_000;

/** All mail of an inbox as one file. */
export function inboxExport(deps: ExportDeps) {
  let running = 0;

  /** The pieces as the client takes them. Counts as running until the last one, or until the client leaves. */
  function streamed(pieces: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
    running += 1;
    let isOver = false;
    let stalled: ReturnType<typeof setTimeout> | undefined;
    const over = () => {
      clearTimeout(stalled);
      if (!isOver) running -= 1;
      isOver = true;
    };
    return new ReadableStream<Uint8Array>({
      async pull(controller) {
        clearTimeout(stalled);
        try {
          const { done, value } = await nextPiece(pieces);
          if (done) {
            over();
            return controller.close();
          }
          stalled = setTimeout(() => {
            over();
            controller.error(new Error("the client has stopped reading"));
          }, longestStallMs);
          controller.enqueue(value);
        } catch (error) {
          over();
          deps.log.warn({ err: error }, "export of an inbox broken off");
          controller.error(error);
        }
      },
      async cancel() {
        over();
        await pieces.return(undefined);
      },
    });
  }

  return api("/v1/inboxes", "Inboxes").get(
    "/:id/export",
    async ({ account, actor, params, query, request }) => {
      const inbox = await ownedInbox(deps, account.reach, params.id);
      const { messageCount } = await ownedTotals(deps, account.reach, inbox.id);
      const format = query.format ?? "jsonl";
      const address = inboxAddress(inbox.username, deps.mailDomain);
      const headers = {
        "content-type": format === "mbox" ? "application/mbox" : "application/x-ndjson",
        "content-disposition": attachmentDisposition(`${address}.${format}`),
        ...untrustedHeaders,
      };
      if (request.method === "HEAD") return new Response(null, { headers });
      if (running >= mostExports) {
        const why = `${mostExports} exports are under way`;
        throw new Refusal("service_unavailable", `Cannot export inbox: ${why}`, { retryAfterSeconds: 10 });
      }
      const read = {
        action: "export.read",
        accountId: account.id,
        actor,
        target: { type: "inbox", id: inbox.id },
      } as const;
      await insertAuditEntries(deps.db.api, auditEntriesOf(deps, deps.now(), [{ ...read, details: { format } }]));
      deps.mayTakeLong(request);
      return new Response(
        streamed(exportedInbox(deps.db.api, { id: inbox.id, address, upToSeq: messageCount }, format)),
        {
          headers,
        },
      );
    },
    operation({
      summary: "Export inbox",
      access: "read",
      description: about,
      path: inboxPath,
      query: Type.Object({
        format: Type.Optional(
          oneOf(inboxFormats, { default: "jsonl", description: "`jsonl`: JSON lines. `mbox`: the format mboxrd" }),
        ),
      }),
      whenRefused: whetherThere((accountId, id) => ownedInbox(deps, accountId, id)),
      answers: {
        200: Type.String({
          description: "The mail, the oldest first",
          contentMediaType: "application/x-ndjson",
          examples: ['{"end":true,"threads":0,"messages":0,"sha256":"…"}\n'],
        }),
      },
      otherAnswers: {
        200: Type.String({
          description: "The mail, the oldest first",
          contentMediaType: "application/mbox",
          examples: ["From jane@example.com Sat Mar 21 10:05:00 2026\nSubject: Hello\r\n\r\nHello Ada\r\n\n"],
        }),
      },
    }),
  );
}

const about =
  "All mail of the inbox up to the time of the request, the oldest first, as a stream. `jsonl`: first a line about the inbox; each thread before its first message; each message with the names of its attachments and the raw mail in base64 (`raw`); last a line with `end`, the numbers of threads and messages, and the SHA-256 of all bytes before it. A file without this line is not whole. `mbox`: each raw mail in the format mboxrd, which mail programs read. Received mails have the bytes that came, sent ones those for the relay, without the DKIM signature. If the connection ends early, the body ends without its last chunk, so clients see an error. An entry of the audit tells of each export.";

/** The next piece of at least 64 KiB, unless the end comes before: few large writes are faster than many small ones. */
async function nextPiece(pieces: AsyncGenerator<Uint8Array>): Promise<IteratorResult<Uint8Array>> {
  const parts: Uint8Array[] = [];
  let length = 0;
  while (length < leastBytes) {
    const { done, value } = await pieces.next();
    if (done) break;
    parts.push(value);
    length += value.length;
  }
  collectStreamed(length);
  return length === 0 ? { done: true, value: undefined } : { done: false, value: Buffer.concat(parts, length) };
}

const leastBytes = 64 << 10;
