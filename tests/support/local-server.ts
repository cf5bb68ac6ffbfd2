import type { ThisServer } from "../../src/http/docs/this-server.ts";

/** The server that the guides name as they are written. */
export const localServer = (): ThisServer => ({
  baseUrl: "http://127.0.0.1:3000",
  mailDomain: "inbox.localhost",
  smtp: "127.0.0.1:2525",
});
