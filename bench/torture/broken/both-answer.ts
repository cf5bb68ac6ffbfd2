/** Broken on purpose: does not look whether a thread has been answered. */
import { changeRequests } from "./answers.ts";
import { asItIs, portOf, serveBroken } from "./support.ts";

changeRequests(async (request) => {
  const isSend = request.url.endsWith("/send") && request.headers.get("content-type") === "application/json";
  if (!isSend) return request;
  const { ifUnanswered, ...asked } = (await request.json()) as { ifUnanswered?: boolean };
  return new Request(request, { body: JSON.stringify(asked) });
});
await serveBroken(asItIs, portOf);
