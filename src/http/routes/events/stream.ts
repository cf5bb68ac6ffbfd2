import { Type } from "@sinclair/typebox";
import { type LogPlace, placeName } from "../../../domain/events/log-place.ts";
import { collectStreamed } from "../../../flows/collect-garbage.ts";
import type { Deps } from "../../../flows/deps.ts";
import { type EventStream, placeNamed, type StreamingDeps, streamEvents } from "../../../flows/events/event-stream.ts";
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
  /** The connection may be quiet for as long as it takes. */
  mayTakeLong(request: Request): void;
  /** Who takes nothing of what is left is cut off. */
  endsSoon(request: Request): void;
}

/** The size of a client's queue, and of the pieces of a larger frame. Bun takes one piece more. */
const queueBytes = 16 << 10;
/** How long a client waits before it comes again. */
const retryMs = 1_000;
/** How long a client that is sent away may take for the rest of a large event. */
const mostEndingMs = 10_000;

const headers = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  // Else nginx keeps it back until there is much of it.
  "x-accel-buffering": "no",
};

const StreamQuery = Type.Object({
  ...subscriptionQuery,
  after: Type.Optional(
    text({
      description: "Id of the last event that you have, or `start`; from now on where left out",
      examples: [examples.eventId],
    }),
  ),
  token: Type.Optional(
    text({
      description: "A token in place of the header, for browsers: one that ends within the hour, and no key",
      examples: [examples.token],
    }),
  ),
});

/** The log as it is written, for whoever keeps listening (docs/streams.md). */
export function eventStream(deps: EventStreamDeps) {
  return api(eventStreamPath, "Events").get(
    "",
    async ({ account, query, request, set }) => {
      const wanted = await askedSubscription(deps, account, query);
      const after = await placeNamed(deps, account.id, request.headers.get("last-event-id") || query.after);
      Object.assign(set.headers, headers);
      if (request.method === "HEAD") return new Response(null);
      return new Response(framesOf(deps, { account, request, after, wanted }), { headers });
    },
    operation({
      summary: "Stream events",
      description: about,
      query: StreamQuery,
      headers: {
        "Last-Event-ID": {
          description: "Id of the last frame that you have: wins over `after`",
          example: examples.eventId,
        },
      },
      answers: {
        200: Type.String({
          description: "Frames, for as long as you listen",
          contentMediaType: "text/event-stream",
          examples: [`retry: 1000\n\nevent: ready\nid: ${examples.eventId}\ndata: {"after":"${examples.eventId}"}\n\n`],
        }),
      },
      refuses: ["not_found", "too_many_listeners"],
    }),
  );
}

const about =
  "Server-sent events: each event of the log in its order, as soon as it is there, none left out and none twice. First comes `retry`, then a frame `ready` whose id is the place that it begins behind. Each event is a frame of its type, its id, and in one line of `data` what a webhook would be told. Every 15 s comes a comment with the time, and where events have passed that you did not ask for, a frame with an id alone. A frame `end` says why it is over (`shutting_down`, `unauthorized`, `slow`, `expired`). Come again with the last id as `Last-Event-ID`, which browsers do by themselves: after a second or after a week, it goes on there. An id that the log does not have is 404. Browsers, which can give a stream no header, pass a token as `token`.";

interface Asked {
  account: Account;
  request: Request;
  after: LogPlace;
  wanted: Wanted;
}

/** The frames of one client. What it does not take is not made: the stream is asked for more when there is room. */
function framesOf(deps: EventStreamDeps, { account, request, after, wanted }: Asked): ReadableStream<Uint8Array> {
  const unsent = new ByteLengthQueuingStrategy({ highWaterMark: queueBytes });
  let stream: EventStream | undefined;
  let out: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** The rest of a frame that is larger than what may lie here. */
  let rest: Uint8Array<ArrayBuffer> | undefined;
  let enqueuedBytes = 0;
  /** Why the stream ends, once the frame that has begun is out. */
  let ending: { reason: EndReason; deadline: ReturnType<typeof setTimeout> } | undefined;
  let lastId = placeName(after);

  function queuedBytes(): number {
    return out === undefined ? 0 : queueBytes - (out.desiredSize ?? 0);
  }

  function takenBytes(): number {
    return enqueuedBytes - queuedBytes();
  }

  function hasRoom(): boolean {
    return out !== undefined && rest === undefined && queuedBytes() < queueBytes;
  }

  function write(frame: Uint8Array<ArrayBuffer>): void {
    if (frame.length > queueBytes) {
      rest = frame;
      writePiece(frame);
    } else {
      enqueue(frame);
    }
  }

  /** A copy, as a view of a part would keep the whole frame in memory. */
  function writePiece(of: Uint8Array<ArrayBuffer>): void {
    rest = of.length > queueBytes ? of.subarray(queueBytes) : undefined;
    enqueue(of.slice(0, queueBytes));
    collectStreamed(queueBytes);
  }

  function enqueue(bytes: Uint8Array<ArrayBuffer>): void {
    enqueuedBytes += bytes.length;
    out?.enqueue(bytes);
  }

  function taken(): void {
    if (rest !== undefined) writePiece(rest);
    if (ending === undefined) stream?.pump();
    else if (rest === undefined) finish(ending.reason);
  }

  const forget = deps.open.keep("sse", {
    caller: account,
    unsentBytes: () => queuedBytes() + (rest?.length ?? 0),
    takenBytes,
    beat,
    end,
  });

  function beat(): void {
    if (!hasRoom() || stream === undefined) return;
    const id = placeName(stream.place);
    if (id !== lastId) write(idFrame(id));
    lastId = id;
    write(commentFrame(deps.now().toISOString()));
  }

  function end(reason: EndReason): void {
    if (rest === undefined) {
      finish(reason);
    } else {
      // Nothing else can be said in the midst of a frame, so it goes out first.
      ending = { reason, deadline: setTimeout(cutOff, mostEndingMs) };
      forget();
    }
  }

  function finish(reason: EndReason): void {
    enqueue(eventFrame({ event: "end", data: JSON.stringify({ reason }) }));
    out?.close();
    leave();
    deps.endsSoon(request);
  }

  /** The client drops the part of a frame that it has, and reads it again when it reconnects. */
  function cutOff(): void {
    out?.close();
    leave("slow");
    deps.endsSoon(request);
  }

  function leave(reason?: EndReason): void {
    out = undefined;
    rest = undefined;
    clearTimeout(ending?.deadline);
    stream?.close();
    forget(reason);
  }

  async function begin(): Promise<void> {
    try {
      const asked = { accountId: account.id, after, wanted };
      stream = await streamEvents(deps.streaming, asked, {
        hasRoom,
        takenBytes,
        copies: false,
        cutOff,
        write(event) {
          lastId = event.id;
          write(event.frame());
        },
      });
      // The client may have left while the log was looked at.
      if (out === undefined) stream.close();
      else stream.pump();
    } catch {
      // It comes again with the place that it was told.
      out?.close();
      leave();
    }
  }

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        out = controller;
        deps.mayTakeLong(request);
        request.signal.addEventListener("abort", () => leave(), { once: true });
        write(retryFrame(retryMs));
        write(eventFrame({ event: "ready", id: lastId, data: JSON.stringify({ after: lastId }) }));
        void begin();
      },
      pull: taken,
      cancel: () => leave(),
    },
    unsent,
  );
}
