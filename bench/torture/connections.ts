import type { Chance } from "../../tests/support/chance.ts";
import { type LedgerAccount, type LedgerSubscription, type LoggedEvent, mayBeClosed } from "./ledger.ts";
import type { World } from "./world.ts";

/** One connection of a client: its filter, its position and its receiver of events. */
export interface Connection {
  world: World;
  account: LedgerAccount;
  apiUrl: string;
  /** The time at which it began. A slow client may read what was written soon after that. */
  beganMs: number;
  subscription: LedgerSubscription;
  /** The id of the last seen event, or `start`. */
  after: string;
  /** Reads everything at once, whatever its usual pace. */
  isFinishing: boolean;
  chance: Chance;
  /** Aborted when the connection must end. */
  signal: AbortSignal;
  heard(event: LoggedEvent): void;
  /** Events up to this one are not wanted. */
  passed(eventId: string): void;
}

/** The pace of a client: at once; for a while only; 1 KiB/s; never. */
export type Manners = "steady" | "dropping" | "slow" | "idle";

interface Payload {
  event: string;
  event_id: string;
  inbox_id: string | null;
  occurred_at: string;
}

function eventOf({ event_id, event, inbox_id, occurred_at }: Payload): LoggedEvent {
  return { id: event_id, type: event, inboxId: inbox_id, occurredAt: occurred_at };
}

/** Uses server-sent events. Ends with the connection; throws if there was none. */
export function byStream(manners: Manners): (connection: Connection) => Promise<void> {
  return async function hear(connection) {
    const { account, after, apiUrl, chance, isFinishing, subscription } = connection;
    const limit = limitOf(connection);
    const query = new URLSearchParams({
      types: subscription.types?.join() ?? "*",
      ...(subscription.inboxId !== undefined && { inbox_id: subscription.inboxId }),
    });
    const headers = { authorization: `Bearer ${account.apiKey}`, "last-event-id": after };
    try {
      const url = `${apiUrl}/v1/events/stream?${query}`;
      const response = await fetch(url, { headers, signal: limit.signal, keepalive: false });
      if (!isTaken(connection, response.status)) return;
      if (isFinishing || manners === "steady") await read(connection, response, limit.touch);
      else if (manners === "dropping") {
        limit.endWithin(chance.whole(50, 5_000));
        await read(connection, response, () => undefined);
      } else if (manners === "slow") await read(connection, response, (bytes) => limit.rest((bytes / 1024) * 1000));
      else await limit.rest(chance.whole(5_000, 30_000));
    } finally {
      limit.leave();
    }
  };
}

async function read(
  connection: Connection,
  response: Response,
  pause: (bytes: number) => Promise<void> | void,
): Promise<void> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body ?? []) {
    const frames = (text + decoder.decode(chunk, { stream: true })).split("\n\n");
    text = frames.pop() ?? "";
    for (const frame of frames) take(connection, frame);
    await pause(chunk.length);
  }
}

function take({ world: { ledger }, account, after, beganMs, heard, passed }: Connection, frame: string): void {
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(frame)?.[1];
  const [event, id, data] = [field("event"), field("id"), field("data")];
  const about = `a stream of ${account.name} behind ${after}`;
  if (event === "ready") {
    if (id !== after) ledger.violation("A7", `${about} began behind ${id}`);
  } else if (event === "end") {
    const { reason } = JSON.parse(data ?? "{}") as { reason?: string };
    ledger.count(`stream: ended, ${reason}`);
    const isClosed = reason === "unauthorized" && mayBeClosed(ledger, account, beganMs);
    if (reason !== "shutting_down" && reason !== "slow" && !isClosed)
      ledger.violation("A7", `${about} was ended: ${reason}`);
  } else if (event !== undefined) {
    const payload = JSON.parse(data ?? "") as Payload;
    if (payload.event_id !== id || payload.event !== event)
      ledger.violation("A7", `${about} has a frame ${event} ${id} that tells of ${payload.event} ${payload.event_id}`);
    heard(eventOf(payload));
  } else if (id !== undefined) passed(id);
}

/** Uses a WebSocket. */
export async function bySocket(connection: Connection): Promise<void> {
  const { account, after, apiUrl, beganMs, heard, subscription, world } = connection;
  const limit = limitOf(connection);
  const options = { headers: { authorization: `Bearer ${account.apiKey}` } };
  const socket = new WebSocket(`${apiUrl.replace("http", "ws")}/v1/ws`, options as unknown as string[]);
  const closed = Promise.withResolvers<void>();
  limit.signal.addEventListener("abort", () => {
    // Later frames are not read: the next connection continues behind the last one read.
    socket.onmessage = null;
    socket.close();
    closed.resolve();
  });
  socket.onopen = () => {
    const { types, inboxId } = subscription;
    const asked = { event_types: types ?? ["*"], ...(inboxId !== undefined && { inbox_ids: [inboxId] }) };
    socket.send(JSON.stringify({ type: "subscribe", ...asked, last_event_id: after }));
  };
  socket.onmessage = ({ data }) => {
    void limit.touch();
    const message = JSON.parse(String(data)) as Payload & { type?: string; code?: string };
    if (message.type === "error") {
      if (message.code !== "service_unavailable" && !mayBeClosed(world.ledger, account, beganMs))
        world.ledger.violation("A7", `a socket of ${account.name} behind ${after} was told ${data}`);
      limit.leave();
    }
    if (message.type === undefined) heard(eventOf(message));
  };
  socket.onerror = () => closed.resolve();
  socket.onclose = ({ code }) => {
    world.ledger.count(`socket: closed, ${code}`);
    if (code > 4000 && code !== 4009 && !mayBeClosed(world.ledger, account, beganMs))
      world.ledger.violation("A7", `a socket of ${account.name} behind ${after} was closed: ${code}`);
    closed.resolve();
  };
  await closed.promise;
  limit.leave();
}

function isTaken({ world: { ledger }, account, after, beganMs }: Connection, status: number): boolean {
  const isClosed = status === 403 && mayBeClosed(ledger, account, beganMs);
  if (status !== 200 && status !== 503 && !isClosed)
    ledger.violation("A7", `a stream of ${account.name} behind ${after} was answered ${status}`);
  return status === 200;
}

/** When a client closes a connection: on request, or after too long a silence. */
function limitOf({ chance, signal }: Connection) {
  const own = new AbortController();
  // Sometimes shorter than the heartbeat of 15 s.
  const patienceMs = chance.whole(6_000, 25_000);
  let timer = setTimeout(() => own.abort(), patienceMs);
  const abort = () => own.abort();
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  const endWithin = (ms: number) => {
    clearTimeout(timer);
    timer = setTimeout(() => own.abort(), ms);
  };
  return {
    signal: own.signal,
    endWithin,
    touch: () => endWithin(patienceMs),
    /** Reads nothing meanwhile. */
    async rest(ms: number): Promise<void> {
      endWithin(ms + patienceMs);
      const over = Promise.withResolvers<void>();
      const resting = setTimeout(over.resolve, ms);
      own.signal.addEventListener("abort", () => over.resolve(), { once: true });
      await over.promise;
      clearTimeout(resting);
      own.signal.throwIfAborted();
    },
    leave() {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      own.abort();
    },
  };
}
