import { strictEqual as equal } from "node:assert";
import { Webhook } from "standardwebhooks";
import { openStream } from "../../tests/support/event-stream.ts";
import { type RunningInboxd, type RunOptions, runInboxd } from "../../tests/support/inboxd.ts";
import { overHttp, overStdio } from "../../tests/support/mcp.ts";
import { startReceiver } from "../../tests/support/receiver.ts";
import { deliver, mailOf } from "./mail.ts";

/** Counts each check under its name. */
type Check = (what: string, work: () => Promise<void>) => Promise<void>;

/** The server under test, with ada's inbox, and its binary. */
interface Tried {
  check: Check;
  inboxd: RunningInboxd;
  inboxId: string;
  options: RunOptions;
}

/** Every kind of listener: endpoints, readers of the log, streams, waits and models. */
export async function tryListeners({ check, inboxd, inboxId, options }: Tried): Promise<Listening> {
  const asAda = { INBOXD_URL: inboxd.api, INBOXD_API_KEY: inboxd.apiKey ?? "" };
  const bearer = { authorization: `Bearer ${inboxd.apiKey}` };
  const stream = await openStream(new URL("/v1/events/stream?types=*&after=start", inboxd.api), bearer);

  await check("tells a second endpoint of a send, signed with a secret of its own", async () => {
    const receiver = await startReceiver();
    const asked = { url: receiver.url, eventTypes: ["message.sent"] };
    const made = await inboxd.request("POST", "/v1/webhooks", asked);
    equal(made.status, 201);
    const { id, secret } = (await made.json()) as { id: string; secret: string };
    await send(inboxd, inboxId, "Told");
    const { body, headers } = await receiver.request(1);
    const told = new Webhook(secret).verify(body, headers) as { event: string; message: { subject: string } };
    equal(`${told.event} ${told.message.subject}`, "message.sent Told");
    equal((await inboxd.request("DELETE", `/v1/webhooks/${id}`)).status, 204);
    await receiver.close();
  });
  await check("shows events by type in the log, and none but mail that came in to who asks for no type", async () => {
    const all = new Set(await loggedTypes(inboxd, "?types=*"));
    for (const type of ["inbox.created", "message.received", "message.sent"])
      equal(`${type} ${all.has(type)}`, `${type} true`);
    equal([...new Set(await loggedTypes(inboxd, ""))].join(), "message.received");
  });
  await check("streams what happened", async () => {
    await stream.frame(({ event, data }) => event === "message.sent" && data?.includes('"Told"') === true);
  });
  await check("tells a WebSocket that has subscribed", async () => {
    // The types have only the options of browsers.
    const options = { headers: bearer } as unknown as string[];
    const socket = new WebSocket(new URL("/v1/ws", inboxd.api.replace("http", "ws")), options);
    const next = answersOf(socket);
    await new Promise((resolve) => socket.addEventListener("open", resolve, { once: true }));
    socket.send(JSON.stringify({ type: "subscribe", inbox_ids: [inboxId] }));
    equal((await next()).type, "subscribed");
    await deliver(inboxd.smtpPort, mailOf("For the socket", "Hello\r\n"));
    const told = await next();
    equal(`${told.event} ${told.message?.subject}`, "message.received For the socket");
    socket.close();
  });
  await check("gives a token that sees its inbox alone, and changes nothing", async () => {
    const other = (await (await inboxd.request("POST", "/v1/inboxes", { username: "bob" })).json()) as { id: string };
    const made = (await (await inboxd.request("POST", "/v1/tokens", { inboxId })).json()) as { token: string };
    const list = await inboxd.request("GET", "/v1/inboxes", undefined, made.token);
    equal(((await list.json()) as { data: { id: string }[] }).data.map(({ id }) => id).join(), inboxId);
    equal((await inboxd.request("GET", `/v1/inboxes/${other.id}/messages`, undefined, made.token)).status, 404);
    equal((await inboxd.request("POST", "/v1/inboxes", {}, made.token)).status, 403);
  });
  await check("answers a wait with the code of a mail that comes meanwhile", async () => {
    const waiting = inboxd.request("GET", `/v1/inboxes/${inboxId}/wait?has=code&subject=sign`);
    await deliver(inboxd.smtpPort, mailOf("Sign in", "Your verification code is 482 913\r\n"));
    const { message } = (await (await waiting).json()) as { message: { codes: { code: string }[] } };
    equal(message.codes[0]?.code, "482913");
  });
  await check("prints the code alone: inboxd wait --code", async () => {
    const { code, stdout, stderr } = await runInboxd(["wait", "ada", "--code"], { ...options, env: asAda });
    equal(`${code} ${stdout}${stderr}`, "0 482913\n");
  });
  await check("gives models tools over HTTP and over stdio", async () => {
    const service = { apiUrl: new URL(inboxd.api) };
    const models = [overHttp({ apiKey: asAda.INBOXD_API_KEY, service }), overStdio([], asAda, undefined, options)];
    for await (const model of models) {
      await using asked = model;
      const { message } = await asked.call("wait_for_message", { inbox: "ada", has: "code", timeout: 0 });
      equal(message.codes[0].code, "482913");
    }
  });
  await check("tells language models how to use it", async () => {
    equal((await (await fetch(new URL("/skill.md", inboxd.api))).text()).startsWith("---\nname: inboxd\n"), true);
    equal((await (await fetch(new URL("/llms-full.txt", inboxd.api))).text()).includes("\n# Streams\n"), true);
  });

  return {
    async goOn(again) {
      await stream.over;
      const end = stream.frames.at(-1);
      equal(`${end?.event} ${end?.data}`, 'end {"reason":"shutting_down"}');
      await deliver(again.smtpPort, mailOf("While nobody listened", "Hello\r\n"));
      const headers = { ...bearer, "last-event-id": stream.lastId ?? "" };
      const resumed = await openStream(new URL("/v1/events/stream", again.api), headers);
      const told = await resumed.frame(({ event }) => event === "message.received");
      resumed.close();
      equal(JSON.parse(told.data ?? "").message.subject, "While nobody listened");
    },
  };
}

export interface Listening {
  /** Continues the stream at the next server. */
  goOn(again: RunningInboxd): Promise<void>;
}

/** `inboxd mcp --embedded` in an empty directory, without a server. */
export async function tryToolsWithoutServer(options: RunOptions): Promise<void> {
  await using model = await overStdio(["--embedded"], { DATA_DIR: "agent" }, undefined, options);
  const made = await model.call("create_inbox", { username: "agent" });
  equal(made.address, "agent@inbox.localhost");
}

async function send(inboxd: RunningInboxd, inboxId: string, subject: string): Promise<void> {
  const answer = await fetch(new URL(`/v1/inboxes/${inboxId}/send`, inboxd.api), {
    method: "POST",
    headers: {
      authorization: `Bearer ${inboxd.apiKey}`,
      "content-type": "application/json",
      "idempotency-key": subject,
    },
    body: JSON.stringify({ to: "bob@example.com", subject, body: "Into the sandbox" }),
  });
  equal(answer.status, 200);
  equal(((await answer.json()) as { status: string }).status, "sent");
}

async function loggedTypes(inboxd: RunningInboxd, query: string): Promise<string[]> {
  const answer = await inboxd.request("GET", `/v1/events${query}`);
  equal(answer.status, 200);
  return ((await answer.json()) as { data: { event: string }[] }).data.map(({ event }) => event);
}

interface Told {
  type?: string;
  event?: string;
  message?: { subject: string };
}

/** The messages of a socket, in order. */
function answersOf(socket: WebSocket): () => Promise<Told> {
  const come: Told[] = [];
  const waiting: ((told: Told) => void)[] = [];
  socket.addEventListener("message", ({ data }) => {
    const told = JSON.parse(String(data)) as Told;
    const next = waiting.shift();
    if (next === undefined) come.push(told);
    else next(told);
  });
  return async () => come.shift() ?? new Promise((resolve) => waiting.push(resolve));
}
