/** Broken on purpose: answers a post with 200 before the mail is in the database. */
import { asItIs, portOf, serveBroken } from "./support.ts";

await serveBroken(asItIs, async (service) => {
  const impatient = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const { headers } = request;
      const body = await request.bytes();
      void Bun.sleep(300)
        .then(() => fetch(new URL("/v1/inbound", service.apiUrl), { method: "POST", headers, body }))
        .catch(() => undefined);
      const to = (headers.get("envelope-to") ?? "").split(", ").map(decodeURIComponent);
      return Response.json({ recipients: to.map((address) => ({ address, status: "stored" })) });
    },
  });
  return { ...(await portOf(service)), inboundUrl: impatient.url.origin };
});
