import { Elysia } from "elysia";
import { Refusal, statusOf } from "../../../domain/errors.ts";
import { defaultEventTypes, everyEvent } from "../../../domain/events/event-types.ts";
import { positionName } from "../../../domain/events/log-position.ts";
import { inOrder, sourcesInReach } from "../../../domain/events/subscription.ts";
import type { Deps } from "../../../flows/deps.ts";
import {
  type EventStream,
  type StreamingDeps,
  startPosition,
  streamEvents,
} from "../../../flows/events/event-stream.ts";
import type { Wanted } from "../../../flows/events/follow-events.ts";
import type { EndReason, OpenStreams } from "../../../flows/events/open-streams.ts";
import { api } from "../../shell/app.ts";
import { type Account, socketPath } from "../../shell/auth.ts";
import { refusalOf } from "../../shell/errors.ts";
import type { Socket, SocketSession } from "../../shell/sockets.ts";
import { ownedInbox } from "../account/inboxes.ts";
import { parseSocketMessage, type SubscribeMessage } from "./socket-messages.ts";

export interface SocketDeps extends Deps {
  streaming: StreamingDeps;
  open: Pick<OpenStreams, "keep">;
}

/** The close code of each reason to end a session. */
const closeCodes = {
  shutting_down: 1001,
  try_again_later: 1013,
  unauthorized: 4001,
  expired: 4001,
  unknown_place: 4004,
  too_many_listeners: 4008,
  slow: 4009,
  too_much_said: 4029,
} as const;

const longestMessage = 4 << 10;
const messagesAtOnce = { count: 30, withinMs: 10_000 };
/** A client that has not answered two pings is disconnected. */
const mostPings = 2;

/** Answers requests without an upgrade. shell/sockets.ts handles upgrades in front of the app. */
export function socketRoute() {
  return new Elysia().use(
    api(socketPath, "Events").get(
      "",
      () => {
        throw new Refusal("upgrade_required", "Cannot answer: this path is only for WebSockets", {
          headers: { upgrade: "websocket", connection: "Upgrade" },
        });
      },
      { detail: { hide: true } },
    ),
  );
}

/** The session of one client at `GET /v1/ws`, which may change its subscription at any time (docs/streams.md). */
export function socketSession(deps: SocketDeps, account: Account, ip: string | null): SocketSession {
  let socket: Socket | undefined;
  let forget: ReturnType<OpenStreams["keep"]> | undefined;
  let unanswered = 0;
  const isTooFast = paceOf(messagesAtOnce);
  const subscribed = subscriptions(deps, account, { socketNow: () => socket, cutOff });
  /** Settles when all received messages are handled. They are handled one after the other. */
  let handling: Promise<void> = Promise.resolve();

  function close(reason: keyof typeof closeCodes): void {
    const closing = socket;
    leave();
    closing?.close(closeCodes[reason], reason);
  }

  function cutOff(): void {
    const closing = socket;
    leave("slow");
    closing?.cutOff();
  }

  function leave(reason?: EndReason): void {
    socket = undefined;
    subscribed.close();
    forget?.(reason);
  }

  async function handle(text: string | Uint8Array): Promise<void> {
    if (socket === undefined) return;
    try {
      const message = parseSocketMessage(text);
      if (message.type === "ping") sendJson(socket, { type: "pong" });
      else if (message.type === "subscribe") await subscribed.more(message);
      else subscribed.less(message.inbox_ids ?? undefined);
    } catch (error) {
      const refusal = refusalOf({ error, method: "GET", path: socketPath, request_id: "" }, deps.log);
      if (refusal.details.extra?.resource === "event") close("unknown_place");
      // The service failed to subscribe the client. It closes the socket, because the client would wait for events that
      // never come.
      else if (statusOf[refusal.reason] >= 500) close("try_again_later");
      else sendJson(socket, { type: "error", code: refusal.reason, message: refusal.message });
    }
  }

  return {
    opened(opened) {
      socket = opened;
      try {
        forget = deps.open.keep("ws", {
          caller: account,
          ip,
          unsentBytes: opened.unsentBytes,
          takenBytes: opened.takenBytes,
          beat() {
            if (unanswered >= mostPings) return opened.cutOff();
            unanswered += 1;
            opened.ping();
          },
          end: close,
        });
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        close("too_many_listeners");
      }
    },
    received(message) {
      if (socket === undefined) return;
      if (isTooFast() || Buffer.byteLength(message) > longestMessage) close("too_much_said");
      else handling = handling.then(() => handle(message));
    },
    drained: subscribed.pump,
    ponged() {
      unanswered = 0;
    },
    closed: () => leave(),
  };
}

interface SubscribedSocket {
  socketNow(): Socket | undefined;
  cutOff(): void;
}

/** The subscription of one client, and its stream of events. Several `subscribe` messages add up. */
function subscriptions(deps: SocketDeps, account: Account, { socketNow, cutOff }: SubscribedSocket) {
  let stream: EventStream | undefined;
  let wanted: Wanted = { types: [], inboxIds: [], externalIds: undefined, automated: undefined, include: [] };

  function answer(type: "subscribed" | "unsubscribed"): void {
    sendJson(socketNow(), {
      type,
      inbox_ids: wanted.inboxIds ?? null,
      external_ids: wanted.externalIds ?? null,
      event_types: wanted.types.includes(everyEvent) ? null : wanted.types,
      last_event_id: stream === undefined ? null : positionName(stream.position),
    });
  }

  async function begin(after: string | undefined, first: Wanted): Promise<EventStream> {
    const position = await startPosition(deps.streaming, account.id, after);
    const outlet = {
      // Unsent bytes mean that the client is slow. For a fast client, the kernel takes each message at once.
      hasRoom: () => socketNow()?.unsentBytes() === 0,
      takenBytes: () => socketNow()?.takenBytes() ?? 0,
      copies: true,
      cutOff,
      write: ({ json }: { json: string }) => socketNow()?.send(json),
    };
    return streamEvents(deps.streaming, { accountId: account.id, after: position, wanted: first }, outlet);
  }

  return {
    async more(message: SubscribeMessage): Promise<void> {
      const after = message.last_event_id ?? undefined;
      if (after !== undefined && stream !== undefined) {
        throw new Refusal("validation_error", 'Cannot subscribe: "last_event_id" belongs to the first subscription');
      }
      const asked = await wantedBy(deps, account, message);
      if (wanted.types.length > 0 && (asked.externalIds === undefined) !== (wanted.externalIds === undefined)) {
        throw new Refusal(
          "validation_error",
          'Cannot subscribe: "external_ids" belongs to all subscriptions or to none',
        );
      }
      const next = merged(wanted, asked, message.automated !== undefined);
      if (stream === undefined) {
        const begun = await begin(after, next);
        if (socketNow() === undefined) return begun.close();
        stream = begun;
      } else {
        stream.change(next);
      }
      wanted = next;
      answer("subscribed");
      stream.pump();
    },
    less(ids: readonly string[] | undefined): void {
      if (ids !== undefined && wanted.inboxIds === undefined) {
        throw new Refusal("validation_error", "Cannot unsubscribe from single inboxes: all are subscribed to");
      }
      const left = wanted.inboxIds?.filter((id) => ids?.includes(id) === false) ?? [];
      const isOver = left.length === 0;
      wanted = {
        ...wanted,
        inboxIds: left,
        externalIds: isOver ? undefined : wanted.externalIds,
        types: isOver ? [] : wanted.types,
      };
      stream?.change(wanted);
      answer("unsubscribed");
      stream?.pump();
    },
    pump: () => stream?.pump(),
    close: () => stream?.close(),
  };
}

function sendJson(socket: Socket | undefined, message: object): void {
  socket?.send(JSON.stringify(message));
}

/** Makes a function that counts calls and returns whether there were more than `count` of them within `withinMs`. */
function paceOf({ count, withinMs }: { count: number; withinMs: number }): () => boolean {
  const atMs: number[] = [];
  return () => {
    const nowMs = performance.now();
    atMs.push(nowMs);
    if (atMs.length <= count) return false;
    return nowMs - (atMs.shift() ?? 0) < withinMs;
  };
}

async function wantedBy(deps: SocketDeps, account: Account, asked: SubscribeMessage): Promise<Wanted> {
  const named = asked.inbox_ids ?? undefined;
  for (const id of named ?? []) await ownedInbox(deps, account.reach, id);
  const inboxIds = named && [...new Set(named)];
  return {
    types: asked.event_types === null ? [everyEvent] : (asked.event_types ?? defaultEventTypes),
    ...sourcesInReach(account.reach, { inboxIds, externalIds: asked.external_ids ?? undefined }),
    automated: asked.automated ?? undefined,
    include: inOrder(asked.include ?? []),
  };
}

/** Adds a subscription to the previous ones. The latest `automated` wins. */
function merged(before: Wanted, more: Wanted, setsAutomated: boolean): Wanted {
  const wasNothing = before.types.length === 0;
  return {
    types: [...new Set([...before.types, ...more.types])],
    inboxIds:
      more.inboxIds === undefined || (before.inboxIds === undefined && !wasNothing)
        ? undefined
        : [...new Set([...(before.inboxIds ?? []), ...more.inboxIds])],
    externalIds: more.externalIds && [...new Set([...(before.externalIds ?? []), ...more.externalIds])],
    automated: setsAutomated ? more.automated : before.automated,
    include: inOrder([...before.include, ...more.include]),
  };
}
