/** Broken on purpose: refuses a key now and then. */
import { changeRequests } from "./answers.ts";
import { asItIs, portOf, serveBroken } from "./support.ts";

let asked = 0;

changeRequests(async (request) => {
  if (request.method !== "GET" || !request.url.endsWith("/messages?limit=1")) return request;
  asked += 1;
  if (asked % 3 === 0) request.headers.set("authorization", "Bearer nobody");
  return request;
});
await serveBroken(asItIs, portOf);
