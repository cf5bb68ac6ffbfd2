import { type Chance, chanceOf } from "../chance.ts";
import { dereferenced } from "../openapi.ts";
import { startReceiver } from "../receiver.ts";
import { startWorld, type WorldDatabase } from "../world.ts";
import { readDocument, type ShownDocument } from "./document.ts";
import { knownThings } from "./known.ts";
import { type FuzzRequest, makeRequest } from "./requests.ts";
import { type FuzzAnswer, faultsOfAnswer } from "./verdict.ts";

export interface FuzzRun {
  requests: number;
  seed: number;
  database?: WorldDatabase | "embedded";
}

export interface FuzzResult {
  /** Each fault with the request that shows it, once for each time. */
  faults: Map<string, { count: number; sample: string }>;
  /** The number of answers by operation and status. */
  answers: Map<string, number>;
  /** The operations of the document. */
  operations: string[];
}

/** The number of simultaneous requests of a busy client. */
const inFlight = 8;

/** Sends requests made from a service's document and checks every answer against the document. */
export async function fuzz({ requests, seed, database }: FuzzRun): Promise<FuzzResult> {
  const receiver = await startReceiver();
  await using world = await startWorld({ env: unlimited, ...(database !== undefined && { database }) });
  const document = readDocument(dereferenced((await world.api("/openapi.json", { apiKey: null })).body));
  const known = knownThings(receiver.url);
  const inbox = await world.inbox("fuzz");
  await world.deliver(mailWithFile, inbox.address);
  const { token } = (await world.api("/v1/tokens", { method: "POST", body: {} })).body;
  const credentials = { apiKey: world.apiKey, token };
  const operations = document.operations.map(({ operationId }) => operationId);
  const result: FuzzResult = { faults: new Map(), answers: new Map(), operations };
  const { body: kept } = await world.api(`/v1/inboxes/${inbox.id}/messages`);
  known.learn(JSON.stringify({ kept, inbox }), chanceOf(seed));

  let left = requests;
  async function drive(chance: Chance): Promise<void> {
    while (left > 0) {
      left -= 1;
      const request = makeRequest(document, known.forRequest(chance), credentials, chance);
      if (request.method === "DELETE" && known.isKept(idIn(request))) continue;
      const answer = await ask(world.service.apiUrl, request);
      note(result, request, answer, document);
      // Open operations return nothing to remember: the document's examples are not from this service.
      if (request.operation.takesKey && answer.status < 300) known.learn(answer.body, chance);
      if (request.method === "DELETE" && answer.status === 204) known.forget(idIn(request));
    }
  }
  const chance = chanceOf(seed);
  await Promise.all(Array.from({ length: inFlight }, () => drive(chance.fork())));
  await receiver.close();
  return result;
}

function idIn({ path }: FuzzRequest): string {
  return path.split("?")[0]?.split("/")[3] ?? "";
}

/** Limits that would only slow the run down. */
const unlimited = {
  SENDS_PER_MINUTE: "0",
  SENDS_PER_DAY: "0",
  COLD_RECIPIENT_DAILY: "0",
  INBOXES_PER_DAY: "0",
  SEND_WAIT_MS: "20",
};

async function ask(origin: URL, { method, path, headers, body }: FuzzRequest): Promise<FuzzAnswer> {
  const response = await fetch(`${origin.origin}${path}`, {
    method,
    headers,
    redirect: "manual",
    ...(body !== undefined && { body }),
  });
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
  const text = isStream ? await firstFrame(response) : await response.text();
  return { status: response.status, headers: response.headers, body: text };
}

/** The time-out for an answer that does not end. */
async function firstFrame({ body }: Response): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const bytes of body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    if (text.includes("\n\n")) break;
  }
  return text;
}

function note(
  { faults, answers }: FuzzResult,
  request: FuzzRequest,
  answer: FuzzAnswer,
  document: ShownDocument,
): void {
  const { operation, method, path, headers, body, about, intent } = request;
  const name = `${operation.operationId} ${answer.status}`;
  answers.set(name, (answers.get(name) ?? 0) + 1);
  for (const fault of faultsOfAnswer(request, answer, document)) {
    const text = `${operation.operationId}: ${fault.replace(/\{.*/s, "")} (${about})`;
    const shown = {
      method,
      path,
      headers,
      body: String(body).slice(0, 500),
      intent,
      answer: answer.body.slice(0, 500),
    };
    const { count = 0, sample = JSON.stringify(shown) } = faults.get(text) ?? {};
    faults.set(text, { count: count + 1, sample });
  }
}

const mailWithFile = [
  "From: Jane <jane@example.com>",
  "Subject: Your order",
  "Message-ID: <fuzz@example.com>",
  "MIME-Version: 1.0",
  'Content-Type: multipart/mixed; boundary="b"',
  "",
  "--b",
  "Content-Type: text/plain",
  "",
  "Where is it?",
  "--b",
  'Content-Type: application/pdf; name="an invoice.pdf"',
  'Content-Disposition: attachment; filename="an invoice.pdf"',
  "",
  "%PDF-1.7 of a kind",
  "--b--",
  "",
].join("\r\n");
