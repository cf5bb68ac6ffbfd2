import { Refusal } from "../domain/errors.ts";
import { within } from "../primitives/within.ts";
import type { AdminRequest } from "./administer.ts";
import { controlPaths, fetchFrom } from "./socket.ts";

export { NobodyListens } from "./socket.ts";

/** Sends an operation to the service that has locked the data directory. Returns its result, or throws its refusal. */
export async function askService(dataDir: string, request: AdminRequest, signal?: AbortSignal): Promise<object> {
  const response = await fetchFrom(dataDir, controlPaths.administer, {
    method: "POST",
    body: JSON.stringify(request),
    ...(signal && { signal }),
  });
  const answer = (await response.json()) as { result: object } | { refused: string };
  if ("refused" in answer) throw new Refusal("forbidden", answer.refused);
  return answer.result;
}

/** How long an export waits before it checks a silent service, and then for the reply to that check. So it gives up after a minute. */
const quietMs = 30_000;

export interface ExportRequest {
  /** The name of the only account to export; undefined for everything. */
  account?: string | undefined;
  mostQuietMs?: number;
}

/**
 * Exports the database of the service that has locked the data directory. The service sends the first byte only after it has read the whole
 * database, so silence is no error. After each 30 seconds of silence, the export checks that the service still answers other requests.
 */
export async function* readFromService(
  dataDir: string,
  { account, mostQuietMs = quietMs }: ExportRequest = {},
): AsyncGenerator<Uint8Array> {
  const end = new AbortController();
  const whileItAnswers = async <Value>(work: Promise<Value>): Promise<Value> => {
    const done = work.then((value) => ({ value }));
    for (;;) {
      const found = await within(mostQuietMs, done, () => undefined);
      if (found !== undefined) return found.value;
      await within(mostQuietMs, fetchFrom(dataDir, controlPaths.alive, { signal: end.signal }), () => {
        throw new Refusal(
          "forbidden",
          "Cannot export: the running service has not answered for a minute; is it stopped?",
        );
      });
    }
  };
  try {
    const of = account === undefined ? "" : `?${new URLSearchParams({ account })}`;
    const asked = fetchFrom(dataDir, `${controlPaths.export}${of}`, { timeout: false, signal: end.signal });
    const answer = await whileItAnswers(asked);
    if (!answer.ok)
      throw new Refusal("forbidden", `Cannot export: the running service answered: ${await answer.text()}`);
    const pieces = answer.body?.getReader();
    for (;;) {
      const piece = pieces && (await whileItAnswers(pieces.read()));
      if (piece === undefined || piece.done) return;
      yield piece.value;
    }
  } finally {
    end.abort();
  }
}
