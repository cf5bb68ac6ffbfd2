import { describe, expect, test } from "bun:test";
import { service } from "../../src/domain/access/actor.ts";
import { exportAccount } from "../../src/flows/move/export-account.ts";
import { importAccount } from "../../src/flows/move/import-account.ts";
import { approvalEnv, approvedInbox, boss, cfo, decide, letterNumber, lettersTo } from "../support/approvals.ts";
import { enginesHere } from "../support/engines.ts";
import { kill, livesOn } from "../support/lives.ts";
import { insertOwnDomain } from "../support/own-domain.ts";
import { scriptedSmtp } from "../support/scripted-smtp.ts";
import { newAccount } from "../support/sends.ts";
import { untilSo } from "../support/until.ts";
import type { World, WorldOptions } from "../support/world.ts";
import { worldsOn } from "../support/world-on.ts";

const minuteMs = 60_000;

describe.each(enginesHere())("Letters to approvers (%s)", (engine) => {
  const worlds = worldsOn(engine);
  const lives = livesOn(engine);

  async function begin(env: WorldOptions["env"] = {}, script: Parameters<typeof scriptedSmtp>[0] = {}) {
    const relay = await scriptedSmtp(script);
    const outbound = { OUTBOUND: `smtp://127.0.0.1:${relay.port}?tls=off` };
    const world = await worlds({ env: { ...approvalEnv, ...outbound, ...env } });
    return {
      world,
      relay,
      async [Symbol.asyncDispose]() {
        await world[Symbol.asyncDispose]();
        await relay.close();
      },
    };
  }

  /** Waits until the letters about all drafts that wait are written. */
  const written = (world: World) =>
    untilSo(async () => {
      const unwritten = "select 1 from drafts where state = 'awaiting_approval' and lettered_version < version";
      return (await world.service.deps.db.api.run(unwritten, [])).length === 0;
    });
  /** Waits until each letter that is due is sent. */
  const allDueSent = (world: World) =>
    untilSo(async () => {
      const due = `select 1 from outbox where state <> 'waiting' or due_at <= '${world.clock.now().toISOString()}'`;
      return (await world.service.deps.db.api.run(due, [])).length === 0;
    });
  const emptied = (world: World) =>
    untilSo(async () => {
      const left = await world.service.deps.db.api.run("select 1 from outbox", []);
      return left.length === 0;
    });

  test("come at once to each approver, from an address that takes no mail, with one link", async () => {
    await using here = await begin();
    const { world, relay } = here;
    const { ask } = await approvedInbox(world, [boss, cfo]);
    await ask({ to: "jane@example.com", subject: "Offer\u202e", body: `${"x".repeat(3000)}THE END` });
    for (const address of [boss, cfo]) {
      const { subject, text, from, links } = await letterNumber(relay, 1, address);
      expect(subject).toStartWith("Approval needed: Offer");
      expect(from).toBe("no-reply@inbox.localhost");
      expect(text).toContain("To: jane@example.com");
      expect(text).not.toContain("THE END");
      expect(links).toHaveLength(1);
    }
    const [one, other] = [await letterNumber(relay, 1, boss), await letterNumber(relay, 1, cfo)];
    expect(one.links).not.toEqual(other.links);
    expect(relay.mails.map(({ from }) => from)).toEqual(["no-reply@inbox.localhost", "no-reply@inbox.localhost"]);
    expect(relay.mails[0]?.raw.toString()).toContain("Auto-Submitted: auto-generated");
  });

  test("come at most once a minute, and the second one has all that waits since", async () => {
    await using here = await begin();
    const { world, relay } = here;
    const { ask } = await approvedInbox(world);
    await ask({ subject: "First" });
    await letterNumber(relay, 1);
    await ask({ subject: "Second" });
    const changed = await ask({ subject: "Third" });
    await written(world);
    await world.api(`/v1/drafts/${changed}`, { method: "PATCH", body: { subject: "Third again" } });
    await written(world);
    world.clock.pass(minuteMs - 5_000);
    // A letter to another approver is no reason to wait.
    const { ask: askOther } = await approvedInbox(world, [cfo]);
    await askOther();
    await letterNumber(relay, 1, cfo);
    expect(await lettersTo(relay)).toHaveLength(1);
    world.clock.pass(6_000);
    const { subject, text, links } = await letterNumber(relay, 2);
    expect(subject).toBe("Approval needed for 2 mails");
    expect(text.match(/^Subject: .*$/gm)).toEqual(["Subject: Second", "Subject: Third again"]);
    expect(links).toHaveLength(2);
    expect((await decide(links[1] ?? "", "approve", { version: 2 })).status).toBe(303);
    await emptied(world);
    expect(await lettersTo(relay)).toHaveLength(2);
  });

  test("have at most 20 mails, and the next one has the others", async () => {
    await using here = await begin();
    const { world, relay } = here;
    const { ask } = await approvedInbox(world);
    await ask({ subject: "First" });
    await letterNumber(relay, 1);
    for (let number = 1; number <= 23; number += 1) await ask({ subject: `Mail ${number}`, body: `Body ${number}` });
    await written(world);
    world.clock.pass(minuteMs);
    expect((await letterNumber(relay, 2)).links).toHaveLength(20);
    world.clock.pass(minuteMs);
    const last = await letterNumber(relay, 3);
    expect(last.text.match(/^Subject: .*$/gm)).toEqual(["Subject: Mail 21", "Subject: Mail 22", "Subject: Mail 23"]);
  });

  test("go to the approvers of the service if the inbox names none, and to nobody if it names nobody", async () => {
    await using here = await begin({ APPROVERS: `${boss}, ${cfo}` });
    const { world, relay } = here;
    const { ask: askNobody } = await approvedInbox(world, []);
    await askNobody();
    const { ask } = await approvedInbox(world, null);
    await ask({ subject: "Default" });
    for (const address of [boss, cfo]) expect((await letterNumber(relay, 1, address)).text).toContain("Default");
    await emptied(world);
    expect(relay.mails).toHaveLength(2);
  });

  test("are not sent about a mail that is decided, nor to somebody whose mail comes here by now", async () => {
    await using here = await begin(
      { RELAY_RETRY_SECONDS: "60" },
      { answer: (line) => (line === "DATA" ? "451 later" : undefined) },
    );
    const { world, relay } = here;
    const { ask } = await approvedInbox(world, ["boss@late.example"]);
    const id = await ask();
    await relay.seen("DATA");
    await untilSo(() => world.log.some(({ msg }) => msg === "letter put off"));
    await insertOwnDomain(world.service.deps.db.api, {
      accountId: (await world.api("/v1/account")).body.id,
      name: "late.example",
    });
    const { ask: askAgain, inboxId } = await approvedInbox(world, [boss]);
    const decided = await askAgain();
    await untilSo(() => world.log.filter(({ msg }) => msg === "letter put off").length === 2);
    await world.api(`/v1/drafts/${decided}`, { method: "DELETE" });
    world.clock.pass(2 * minuteMs);
    await emptied(world);
    expect(relay.mails).toEqual([]);
    expect((await world.api(`/v1/drafts/${id}`)).body.state).toBe("awaiting_approval");
    expect((await world.api(`/v1/outbox?inbox_id=${inboxId}`)).body.data).toEqual([]);
  });

  test("come again, with links that work, from the service to which the account moves", async () => {
    await using from = await begin();
    await using to = await begin();
    const apiKey = await newAccount(from.world);
    const { ask } = await approvedInbox(from.world, [boss], apiKey);
    const id = await ask({ subject: "Moved" });
    const [old = ""] = (await letterNumber(from.relay, 1)).links;
    const { id: accountId } = (await from.world.api("/v1/account", { apiKey })).body;
    const lines: string[] = [];
    const options = { id: "move", version: "0.1.0", now: from.world.clock.now(), accountId, actor: service };
    await exportAccount(from.world.service.deps, options, async (line) => void lines.push(line));
    expect(lines.join("")).not.toContain('"table":"letters"');
    await importAccount(to.world.service.deps, async function* () {
      yield* lines.join("").trimEnd().split("\n");
    });
    const { links, text } = await letterNumber(to.relay, 1);
    expect(text).toContain("Subject: Moved");
    const elsewhere = new URL(new URL(old).pathname, to.world.service.apiUrl);
    expect((await decide(String(elsewhere), "approve")).status).toBe(403);
    expect((await decide(links[0] ?? "", "approve")).status).toBe(303);
    await untilSo(async () => (await to.world.api(`/v1/drafts/${id}`, { apiKey })).body.state === "sent");
  });

  test.skipIf(engine === "embedded")("come once a minute from two processes too, and leave no draft out", async () => {
    await using here = await begin();
    const { world, relay } = here;
    await using other = await world.another();
    const { ask } = await approvedInbox(world, [boss, cfo]);
    for (let minute = 1; minute <= 4; minute += 1) {
      for (let number = 1; number <= 6 && minute < 4; number += 1) await ask({ subject: `Mail ${minute}.${number}` });
      await Promise.all([written(world), written(other)]);
      await allDueSent(world);
      world.clock.pass(minuteMs);
    }
    await emptied(world);
    for (const address of [boss, cfo]) {
      const letters = await lettersTo(relay, address);
      expect(letters.flatMap(({ links }) => links)).toHaveLength(18);
      // The first one has only those of the first mails that were there in time.
      expect(letters.length).toBeLessThanOrEqual(4);
    }
  });

  test("are in no list of the outbox, and are tried again like mail", async () => {
    let isDown = true;
    const answer = (line: string) => (isDown && line === "DATA" ? "451 4.3.0 later" : undefined);
    await using here = await begin({ RELAY_RETRY_SECONDS: "60" }, { answer });
    const { world, relay } = here;
    const { ask } = await approvedInbox(world);
    await ask();
    await untilSo(() => world.log.some(({ msg }) => msg === "letter put off"));
    expect((await world.api("/v1/outbox")).body.data).toEqual([]);
    isDown = false;
    world.clock.pass(minuteMs);
    expect((await letterNumber(relay, 1)).links).toHaveLength(1);
    await emptied(world);
  });

  test("survive kill -9, before they are written and while they are sent", async () => {
    await using life = await lives();
    const silent = await life.relay({ answer: (command) => (command === "." ? "silence" : undefined) });
    const first = await life.start(silent);
    const post = async (path: string, body: object) => {
      const answer = await fetch(new URL(path, first.api), {
        method: "POST",
        headers: {
          authorization: `Bearer ${first.apiKey}`,
          "content-type": "application/json",
          "idempotency-key": crypto.randomUUID(),
        },
        body: JSON.stringify(body),
      });
      return (await answer.json()) as { id: string; state: string };
    };
    const { id } = await post("/v1/inboxes", { sendPolicy: "approve_all", approvers: [boss] });
    const ask = async (subject: string) => {
      const { state } = await post(`/v1/inboxes/${id}/send`, { to: "jane@example.com", subject, body: subject });
      expect(state).toBe("awaiting_approval");
    };
    await ask("while it is sent");
    await silent.seen(".");
    await ask("before it is written");
    await kill(first);
    const world = await life.recover();
    await untilSo(() => life.mails().length >= 3);
    await world.settled();
    const subjects = (await lettersTo({ mails: life.mails() })).map(({ subject }) => subject);
    expect(subjects.toSorted()).toEqual([
      "Approval needed: before it is written",
      "Approval needed: while it is sent",
      "Approval needed: while it is sent",
    ]);
  }, 90_000);
});
