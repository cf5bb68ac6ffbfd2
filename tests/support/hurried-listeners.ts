import { wholeAccount } from "../../src/domain/access/access.ts";
import { createKey } from "../../src/flows/account/manage-accounts.ts";
import { eventFeeds } from "../../src/flows/events/event-feeds.ts";
import { largeEvents } from "../../src/flows/events/large-events.ts";
import { logTurns } from "../../src/flows/events/log-turns.ts";
import { openStreams } from "../../src/flows/events/open-streams.ts";
import { eventWriter } from "../../src/flows/events/written-events.ts";
import { listeners } from "../../src/flows/listeners.ts";
import { openCalls } from "../../src/flows/open-calls.ts";
import { socketSession } from "../../src/http/routes/events/socket.ts";
import { eventStream } from "../../src/http/routes/events/stream.ts";
import { httpApp } from "../../src/http/shell/app.ts";
import { type HttpServer, serveHttp } from "../../src/http/shell/server.ts";
import { socketDoor } from "../../src/http/shell/sockets.ts";
import { findFirstAccount } from "../../src/store/account/accounts.ts";
import { localServer } from "./local-server.ts";
import type { World } from "./world.ts";

export interface HurriedListeners extends AsyncDisposable {
  url: URL;
  /** The reasons why listeners were closed, in order. */
  closed: readonly string[];
  /** The number of events sent to all listeners. */
  sent(): number;
  /** An answer without a connection to send it. */
  answer(path: string): Promise<Response>;
}

/** Streams and sockets on a world's log, with shorter seconds; the world keeps its own. Any key is accepted. */
export async function hurriedListeners({ service: { deps } }: World, secondMs: number): Promise<HurriedListeners> {
  const account = await findFirstAccount(deps.db.api);
  if (account === undefined) throw new Error("There is no account");
  const key = await createKey(deps, deps.db.api, { accountId: account.id });
  const closed: string[] = [];
  let sent = 0;
  const write = eventWriter({ ...deps, links: { attachmentUrl: async () => ({ url: "", expiresAt: deps.now() }) } });
  const feeds = eventFeeds({ ...deps, write });
  const observe = {
    sent() {
      sent += 1;
    },
  };
  const large = largeEvents({ mostBytes: 24 << 20, secondMs });
  const streaming = { ...deps, feeds, write, observe, large, turns: logTurns(1) };
  const calls = openCalls({ ...deps, secondMs });
  const open = openStreams({
    calls,
    secondMs,
    listeners: listeners({ perAccount: 10, perProcess: 10 }),
    observe: { closed: (why) => closed.push(why) },
  });
  let server: HttpServer | undefined;
  const ways = {
    authenticate: () => wholeAccount(account, key.id),
    isDraining: () => false,
    newRequestId: () => "request",
    log: deps.log,
  };
  const app = httpApp(
    {
      ...ways,
      health: async () => ({ ready: true }),
      serviceId: "service-of-tests",
      cell: "00",
      version: "0.0.0",
      thisServer: localServer,
    },
    {
      guarded: [
        eventStream({
          ...deps,
          streaming,
          open,
          mayTakeLong: (request) => server?.mayTakeLong(request),
          endsSoon: (request) => server?.endsSoon(request),
        }),
      ],
    },
  );
  const sockets = socketDoor({
    ...ways,
    newSession: (caller, ip) => socketSession({ ...deps, streaming, open }, caller, ip),
  });
  server = serveHttp(app, { hostname: "127.0.0.1", port: 0 }, deps.log, sockets);
  const { url } = server;
  if (url === undefined) throw new Error("It has no address");
  return {
    url,
    closed,
    sent: () => sent,
    answer: async (path) => app.fetch(new Request(new URL(path, url), { headers: { authorization: "Bearer any" } })),
    async [Symbol.asyncDispose]() {
      open.stop();
      large.stop();
      feeds.stop();
      await server.stop(0);
    },
  };
}
