import { Type } from "@sinclair/typebox";
import { Refusal } from "../../../domain/errors.ts";
import type { Deps } from "../../../flows/deps.ts";
import { exportAccount } from "../../../flows/move/export-account.ts";
import { attachmentDisposition } from "../../../standards/content-disposition.ts";
import { spooled, spoolPath } from "../../../store/mail/spool.ts";
import { adminPath, api } from "../../shell/app.ts";
import type { Refused } from "../../shell/described-operation.ts";
import { operation } from "../../shell/operation.ts";
import { untrustedHeaders } from "../mail/stored-bytes.ts";
import { accountPath, livingAccount } from "./accounts.ts";

export interface AccountExportDeps extends Deps {
  version: string;
  /** The directory of the temporary files from which large answers are sent. */
  spoolDirectory: string;
  /** Lets the answer take as long as the client reads. */
  mayTakeLong(request: Request): void;
}

/** The exports of accounts that one process writes at a time: each reads a whole account, and needs room for it on the disk. */
const mostExports = 2;

/** The whole of an account as one file, for operators. */
export function adminAccountExport(deps: AccountExportDeps) {
  let running = 0;

  /**
   * Writes the export into a nameless file first: a slow client holds no snapshot of the database, and an error is found before the first
   * byte is sent.
   */
  async function written(options: Parameters<typeof exportAccount>[1], signal: AbortSignal): Promise<Blob> {
    if (running >= mostExports) {
      const why = `${mostExports} exports of accounts are under way`;
      throw new Refusal("service_unavailable", `Cannot export account: ${why}`, { retryAfterSeconds: 30 });
    }
    running += 1;
    try {
      return await spooled(spoolPath(deps.spoolDirectory, deps.randomBytes), (write) =>
        exportAccount(deps, options, (text) => {
          signal.throwIfAborted();
          return write(encoder.encode(text));
        }),
      );
    } finally {
      running -= 1;
    }
  }

  return api(`${adminPath}/accounts`, "Admin").get(
    "/:id/export",
    async ({ actor, params, request }) => {
      const { id: accountId } = await livingAccount(deps, params.id);
      const headers = {
        "content-type": "application/x-ndjson",
        "content-disposition": attachmentDisposition(`${accountId}.jsonl`),
        ...untrustedHeaders,
      };
      if (request.method === "HEAD") return new Response(null, { headers });
      deps.mayTakeLong(request);
      const { version, randomBytes, now } = deps;
      const options = { id: randomBytes(16).toHex(), version, now: now(), accountId, actor };
      return new Response(await written(options, request.signal), { headers });
    },
    operation({
      summary: "Export any account",
      access: "operator",
      description:
        "The whole account, with its keys (as hashes), secrets and mail, as `inboxd export --account` writes it: JSON lines, the last of which has the SHA-256 of all bytes before it. `inboxd import --beside` puts it into another service. The file shows one instant, and is complete before its first byte is sent. With the embedded database all other calls wait until it is complete. An entry of the audit tells of each export.",
      path: accountPath,
      whenRefused: async ({ params }: Refused, refusal: Refusal) => {
        await livingAccount(deps, params.id ?? "");
        return refusal;
      },
      answers: {
        200: Type.String({
          description: "The account",
          contentMediaType: "application/x-ndjson",
          examples: ['{"end":true,"rows":0,"sha256":"…"}\n'],
        }),
      },
    }),
  );
}

const encoder = new TextEncoder();
