import { expect, test } from "bun:test";
import { clientAddress, notePeer } from "../../../src/http/shell/client-address.ts";

const proxies = ["10.0.0.1", "10.0.0.2"];

test.each([
  ["is that of the peer", "192.0.2.7", undefined, "192.0.2.7"],
  ["is in its plain form if the listener is at ::", "::ffff:192.0.2.7", undefined, "192.0.2.7"],
  ["is that of a peer that claims another one", "192.0.2.7", "198.51.100.1", "192.0.2.7"],
  ["is the last one before a trusted proxy", "10.0.0.1", "198.51.100.1, 198.51.100.2", "198.51.100.2"],
  ["is before all trusted proxies", "::ffff:10.0.0.1", "203.0.113.9, 198.51.100.2,10.0.0.2", "198.51.100.2"],
  ["is that of the proxy if it adds none", "10.0.0.1", undefined, "10.0.0.1"],
  ["is that of the proxy if all are proxies", "10.0.0.1", "10.0.0.2", "10.0.0.1"],
  ["is that of the proxy if it adds no address", "10.0.0.1", "198.51.100.1, unknown", "10.0.0.1"],
  ["is none without a network", undefined, "198.51.100.1", undefined],
])("the client's address %s", (_, peer, forwarded, expected) => {
  const request = new Request("http://localhost/");
  if (forwarded !== undefined) request.headers.set("x-forwarded-for", forwarded);
  notePeer(request, () => peer);
  expect(clientAddress(request, proxies)).toBe(expected);
});
