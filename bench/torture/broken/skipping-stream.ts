/** Broken on purpose: a client that returns to a stream misses its first event. */
import { changeAnswers } from "./answers.ts";
import { asItIs, portOf, serveBroken } from "./support.ts";

changeAnswers((request, answer) => {
  const isStream = new URL(request.url).pathname === "/v1/events/stream";
  const comesAgain = request.headers.get("last-event-id")?.startsWith("evt_");
  if (!isStream || !comesAgain || answer.body === null) return answer;
  return new Response(answer.body.pipeThrough(withoutFirstEvent()), { status: answer.status, headers: answer.headers });
});
await serveBroken(asItIs, portOf);

function withoutFirstEvent(): TransformStream<Uint8Array, Uint8Array> {
  let hasSkipped = false;
  return new TransformStream({
    transform(chunk, out) {
      const text = Buffer.from(chunk).toString("latin1");
      const kept = hasSkipped ? text : text.replace(/event: (message|inbox)\..*\n.*\n.*\n\n/, "");
      hasSkipped ||= kept !== text;
      out.enqueue(Buffer.from(kept, "latin1"));
    },
  });
}
