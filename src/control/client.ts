import { Refusal } from "../domain/errors.ts";
import type { AdminRequest } from "./administer.ts";
import { controlPaths, fetchFrom } from "./socket.ts";

export { NobodyListens } from "./socket.ts";

/** Has the service that holds the data directory do it. What that refuses is refused here too. */
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

/** Everything in the database of the service that holds the data directory, which takes its time before the first byte. */
export async function* readFromService(dataDir: string): AsyncGenerator<Uint8Array> {
  const answer = await fetchFrom(dataDir, controlPaths.export, { timeout: false });
  if (!answer.ok) throw new Refusal("forbidden", `Cannot export: the running service answered: ${await answer.text()}`);
  yield* answer.body ?? [];
}
