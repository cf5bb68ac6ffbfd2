import { Type } from "@sinclair/typebox";
import { type LogPosition, positionName } from "../../../domain/events/log-position.ts";
import { collectStreamed } from "../../../flows/collect-garbage.ts";
import type { Deps } from "../../../flows/deps.ts";
import {
  type EventStream,
  type StreamingDeps,
  startPosition,
  streamEvents,
} from "../../../flows/events/event-stream.ts";
import type { Wanted } from "../../../flows/events/follow-events.ts";
import type { EndReason, OpenStreams } from "../../../flows/events/open-streams.ts";
import { commentFrame, eventFrame, idFrame, retryFrame } from "../../../standards/server-sent-events.ts";
import { examples } from "../../document/examples.ts";
import { api } from "../../shell/app.ts";
import { type Account, eventStreamPath } from "../../shell/auth.ts";
import { text } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import { askedSubscription, subscriptionQuery } from "./subscription-query.ts";

export interface EventStreamDeps extends Deps {
  streaming: StreamingDeps;
  open: Pick<OpenStreams, "keep">;
  /** Lifts the limit on how long the connection may be idle. */
  mayTakeLong(request: Request): void;
  /** Closes the connection if the client does not read the rest. */
  endsSoon(request: Request): void;
}

/** The size of a client's queue, and of the pieces of a larger frame. Bun buffers one more piece. */
const queueBytes = 16 << 10;
/** How long a client should wait before it reconnects. It gets this in the frame `retry`. */
const retryMs = 1_000;
/** How long a client may take for the rest of a large frame when the service ends its stream. */
const mostEndingMs = 10_000;

const headers = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  // nginx would otherwise buffer the frames.
  "x-accel-buffering": "no",
};

const StreamQuery = Type.Object({
  ...subscriptionQuery,
  after: Type.Optional(
    text({
      description: "Id of the last event that you have, or `start`. Without it: new events only",
      examples: [examples.eventId],
    }),
  ),
  token: Type.Optional(
    text({
      description: "A token in place of the header, for browsers. It must expire within an hour; a key is not accepted",
      examples: [examples.token],
    }),
  ),
});

/** Sends the events of the log as they are written (docs/streams.md). */
export function eventStream(deps: EventStreamDeps) {
  return api(eventStreamPath, "Events").get(
    "",
    async ({ account, actor, query, request, set }) => {
      const wanted = await askedSubscription(deps, account, query);
      const after = await startPosition(deps, account.id, request.headers.get("last-event-id") || query.after);
      Object.assign(set.headers, headers);
      if (request.method === "HEAD") return new Response(null);
      return new Response(framesOf(deps, { account, ip: actor.ip, request, after, wanted }), { headers });
    },
    operation({
      summary: "Stream events",
      access: "read",
      description: about,
      query: StreamQuery,
      headers: {
        "Last-Event-ID": {
          description: "Id of the last frame that you have. It takes precedence over `after`",
          example: examples.eventId,
        },
      },
      answers: {
        200: Type.String({
          description: "Frames, until the stream ends",
          contentMediaType: "text/event-stream",
          examples: [`retry: 1000\n\nevent: ready\nid: ${examples.eventId}\ndata: {"after":"${examples.eventId}"}\n\n`],
        }),
      },
      refuses: ["not_found", "too_many_listeners"],
    }),
  );
}

const about =
  "Server-sent events: the events of the log in order, as soon as they are written, each exactly once. First comes `retry`, then a frame `ready` with the id after which the stream begins. Each event is a frame with its type, its id, and the payload of a webhook in one line of `data`. Every 15 s comes a comment with the time, and, if events were skipped that you did not subscribe to, a frame with only an id. A frame `end` says why the stream ends (`shutting_down`, `unauthorized`, `slow`, `expired`). Reconnect with the last id as `Last-Event-ID`, as browsers do by themselves: the stream continues there, after a second or after a week. An id that the log does not have is 404. Browsers cannot set headers of a stream, so they pass a token as `token`.";

interface Asked {
  account: Account;
  ip: string | null;
  request: Request;
  after: LogPosition;
  wanted: Wanted;
}

/** The frames of one client. The stream of events writes the next one only while the queue has room. */
function framesOf(deps: EventStreamDeps, { account, ip, request, after, wanted }: Asked): ReadableStream<Uint8Array> {
  let stream: EventStream | undefined;
  let ending: { reason: EndReason; deadline: ReturnType<typeof setTimeout> } | undefined;
  let lastId = positionName(after);
  const frames = frameQueue({ onRoom, onCancel: () => leave() });
  const forget = deps.open.keep("sse", {
    caller: account,
    ip,
    unsentBytes: frames.unsentBytes,
    takenBytes: frames.takenBytes,
    beat,
    end,
  });

  function onRoom(): void {
    if (ending !== undefined) {
      if (!frames.isMidFrame()) finish(ending.reason);
    } else if (frames.unsentBytes() <= queueBytes / 2) {
      // Waits until half of the queue is free: a wake-up of the stream costs as much as an event, so it should write
      // several.
      stream?.pump();
    }
  }

  function beat(): void {
    if (!frames.hasRoom() || stream === undefined) return;
    const id = positionName(stream.position);
    if (id !== lastId) frames.write(idFrame(id));
    lastId = id;
    frames.write(commentFrame(deps.now().toISOString()));
  }

  function end(reason: EndReason): void {
    if (frames.isMidFrame()) {
      // The frame `end` cannot begin inside another frame, so the rest of that frame is sent first.
      ending = { reason, deadline: setTimeout(cutOff, mostEndingMs) };
      forget();
    } else {
      finish(reason);
    }
  }

  function finish(reason: EndReason): void {
    frames.write(eventFrame({ event: "end", data: JSON.stringify({ reason }) }));
    frames.close();
    leave();
    deps.endsSoon(request);
  }

  /** Closes the connection in the middle of a frame: the client drops that part and reads the event again when it reconnects. */
  function cutOff(): void {
    frames.close();
    leave("slow");
    deps.endsSoon(request);
  }

  function leave(reason?: EndReason): void {
    frames.stop();
    clearTimeout(ending?.deadline);
    stream?.close();
    forget(reason);
  }

  async function begin(): Promise<void> {
    try {
      stream = await streamEvents(
        deps.streaming,
        { accountId: account.id, after, wanted },
        {
          hasRoom: frames.hasRoom,
          takenBytes: frames.takenBytes,
          copies: false,
          cutOff,
          write(event) {
            lastId = event.id;
            frames.write(event.frame());
          },
        },
      );
      // The client may have left while the log was read.
      if (frames.isOpen()) stream.pump();
      else stream.close();
    } catch {
      // A failure only ends the stream: the client reconnects with the id of its last frame, and misses nothing.
      frames.close();
      leave();
    }
  }

  deps.mayTakeLong(request);
  request.signal.addEventListener("abort", () => leave(), { once: true });
  frames.write(retryFrame(retryMs));
  frames.write(eventFrame({ event: "ready", id: lastId, data: JSON.stringify({ after: lastId }) }));
  void begin();
  return frames.body;
}

/** Frames on their way to one client. A large frame waits here whole and is queued in pieces of at most 16 KiB. */
interface FrameQueue {
  body: ReadableStream<Uint8Array>;
  write(frame: Uint8Array<ArrayBuffer>): void;
  hasRoom(): boolean;
  /** Whether pieces of a large frame still wait. */
  isMidFrame(): boolean;
  /** Bytes that wait in this queue, without those that Bun has taken. */
  unsentBytes(): number;
  takenBytes(): number;
  isOpen(): boolean;
  /** Ends the body after the queued bytes. */
  close(): void;
  /** Drops the rest of a large frame, and all later writes. */
  stop(): void;
}

interface QueueListener {
  /** Called whenever bytes of the queue were taken. */
  onRoom(): void;
  onCancel(): void;
}

function frameQueue({ onRoom, onCancel }: QueueListener): FrameQueue {
  let out: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** The pieces of a large frame that are not queued yet. */
  let rest: Uint8Array<ArrayBuffer> | undefined;
  let enqueuedBytes = 0;

  function queuedBytes(): number {
    return out === undefined ? 0 : queueBytes - (out.desiredSize ?? 0);
  }

  function enqueue(bytes: Uint8Array<ArrayBuffer>): void {
    enqueuedBytes += bytes.length;
    out?.enqueue(bytes);
  }

  function enqueuePiece(frame: Uint8Array<ArrayBuffer>): void {
    rest = frame.length > queueBytes ? frame.subarray(queueBytes) : undefined;
    // A copy, because a view would keep the whole frame in memory.
    enqueue(frame.slice(0, queueBytes));
    collectStreamed(queueBytes);
  }

  const source: UnderlyingDefaultSource<Uint8Array> = {
    start(controller) {
      out = controller;
    },
    pull() {
      if (rest !== undefined) enqueuePiece(rest);
      onRoom();
    },
    cancel: onCancel,
  };

  return {
    body: new ReadableStream(source, new ByteLengthQueuingStrategy({ highWaterMark: queueBytes })),
    write: (frame) => (frame.length > queueBytes ? enqueuePiece(frame) : enqueue(frame)),
    hasRoom: () => out !== undefined && rest === undefined && queuedBytes() < queueBytes,
    isMidFrame: () => rest !== undefined,
    unsentBytes: () => queuedBytes() + (rest?.length ?? 0),
    takenBytes: () => enqueuedBytes - queuedBytes(),
    isOpen: () => out !== undefined,
    close: () => out?.close(),
    stop() {
      out = undefined;
      rest = undefined;
    },
  };
}
