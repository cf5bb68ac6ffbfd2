import type { Chance } from "../../tests/support/chance.ts";
import { type LedgerAccount, type LedgerDraft, type LedgerInbox, newSend } from "./ledger.ts";
import { type Answer, type Asked, ask, type Driver, eventually, type World } from "./world.ts";

/** An inbox whose mail a person must approve: the agent writes with a key of its own, and the account's key is that of the person. */
export interface ApprovedInbox {
  inbox: LedgerInbox;
  agent: LedgerAccount;
  /** Whether mail with a token that begins with `hurriedPrefix` expires within seconds. */
  mayExpire: boolean;
}

export const hurriedPrefix = "pe";

interface ShownDraft {
  state: string;
  version: number;
  approval: { decision: string | null; approvedVersion: number | null; reason: string | null } | null;
}

/** Makes the inbox in an account. */
export async function newApprovedInbox(
  world: World,
  account: LedgerAccount,
  mayExpire: boolean,
): Promise<ApprovedInbox> {
  const wanted = { username: "approved", sendPolicy: "approve_all" };
  const { body } = await ask(world, account, "POST", "/inboxes", { body: wanted });
  const inbox = { id: String(body.id), address: String(body.address), account };
  const { body: key } = await ask(world, account, "POST", "/keys", { body: { name: "agent", access: "agent" } });
  world.ledger.inboxes.set(inbox.address, inbox);
  return { inbox, agent: { ...account, apiKey: String(key.key) }, mayExpire };
}

/** An agent that asks for mail, changes it and takes it back, and a person who approves and rejects it, often both at once. */
export function approver(
  world: World,
  chance: Chance,
  name: string,
  { inbox, agent, mayExpire }: ApprovedInbox,
): Driver {
  const { ledger } = world;
  const person = inbox.account;
  let number = 0;

  return async function decideOnce() {
    const isHurried = mayExpire && chance.is(0.2);
    const mail = await askFor(isHurried);
    if (mail === undefined) return;
    while (chance.is(0.3)) await mail.change();
    if (isHurried) return mail.letExpire();
    if (chance.is(0.2)) await mail.decideWrongly();
    const end = chance.pick(["approve", "approve", "reject", "cancel", "both", "late", "changed", "leave"] as const);
    await mail[end]();
  };

  /** A mail of the agent that waits, with the ways in which it ends. Undefined if the run is over. */
  async function askFor(isHurried: boolean) {
    number += 1;
    const token = `${isHurried ? hurriedPrefix : "p"}${name}n${number}x`;
    const send = newSend(token, inbox);
    const draft: LedgerDraft = { send, id: "", texts: new Set(), relayed: new Set(), dueMs: never, end: undefined };
    ledger.copies.set(token, send);
    ledger.drafts.set(token, draft);
    const sendAt = chance.is(0.4) ? Date.now() + chance.whole(200, 5000) : 0;
    const body = (text: number) => ({ body: `This is ${token}v${text}z` });
    const whole = {
      to: `${token}@far1.example`,
      subject: token,
      ...body(0),
      ...(sendAt > 0 && { sendAt: new Date(sendAt).toISOString() }),
    };
    const path = `/inboxes/${inbox.id}/send`;
    const once = () => answerTo(agent, "POST", path, { body: whole, key: send.key });
    const answers = await Promise.all(chance.is(0.2) ? [once(), once()] : [once()]);
    const ids = new Set(answers.map((answer) => String(answer?.body.messageId ?? "")));
    if (answers.includes(undefined)) return undefined;
    // A repeated request is answered with the present state, and a hurried mail may have expired.
    if (ids.size > 1 || (!isHurried && answers.some((answer) => answer?.body.state !== "awaiting_approval")))
      wrong("was asked for", answers[0]);
    draft.id = String(answers[0]?.body.messageId ?? "");
    ledger.count("approvals: asked for");
    /** The text of each version. An answer may be lost, so a change may make several versions. */
    const texts = new Map([[1, 0]]);
    let version = 1;
    let text = 0;
    /** The versions that the person wanted to approve. */
    const wanted = new Set<number>();

    function wrong(what: string, answer: Answer | ShownDraft | undefined): void {
      ledger.violation("approvals", `${draft.id} (${token}) ${what}: ${JSON.stringify(answer)}`);
    }

    async function change(): Promise<Answer | undefined> {
      text += 1;
      const answer = await answerTo(agent, "PATCH", `/drafts/${draft.id}`, { body: body(text) });
      if (answer?.status === 200) {
        const now = Number(answer.body.version);
        for (let made = version + 1; made <= now; made += 1) texts.set(made, text);
        version = now;
        ledger.count("approvals: changed while it waits");
      } else if (answer !== undefined && answer.body.code !== "draft_not_open") wrong("was not changed", answer);
      return answer;
    }

    function decide(word: "approve" | "reject", seen = version, by = person): Promise<Answer | undefined> {
      if (word === "approve" && seen === version && by === person) {
        draft.dueMs = Math.min(draft.dueMs, Math.max(sendAt, Date.now()));
        wanted.add(version);
      }
      const decision = { version: seen, ...(word === "reject" && { reason: `No ${token}` }) };
      return answerTo(by, "POST", `/drafts/${draft.id}/${word}`, { body: decision });
    }

    /** The end of the mail by its draft, of which the person is told. */
    async function conclude(mayBeCanceled = false): Promise<void> {
      const answer = await answerTo(person, "GET", `/drafts/${draft.id}`);
      if (answer === undefined) return;
      const shown = answer.body as unknown as ShownDraft;
      const decision = shown.approval?.decision ?? null;
      if (mayBeCanceled && decision === "approved" && (await isCanceled())) return;
      if (decision === "approved") {
        draft.texts = new Set([texts.get(shown.approval?.approvedVersion ?? 0) ?? -1]);
        if (shown.state !== "scheduled" && shown.state !== "sent") wrong("was approved", shown);
        if (!wanted.has(shown.approval?.approvedVersion ?? 0)) wrong("has a version that nobody approved", shown);
        draft.end = "sent";
        send.messageIds.add(draft.id);
        ledger.sends.set(token, send);
      } else if (decision === null) {
        if (shown.state !== "awaiting_approval") wrong("is not decided", shown);
        draft.end = "waiting";
      } else {
        if (shown.state !== decision) wrong(`was ${decision}`, shown);
        draft.end = decision as "rejected" | "expired" | "canceled";
      }
      ledger.count(`approvals: ${decision ?? "waiting"}`);
    }

    /** Whether an approved mail was canceled before it was sent, or in the outbox, where an attempt may have sent it. */
    async function isCanceled(): Promise<boolean> {
      const answer = await answerTo(agent, "GET", `/messages/${draft.id}`);
      if (answer === undefined) return true;
      const { failure, mayHaveBeenSent } = answer.body as {
        failure: { reason: string } | null;
        mayHaveBeenSent?: boolean;
      };
      if (failure?.reason !== "canceled") return false;
      draft.end = mayHaveBeenSent ? undefined : "canceled";
      ledger.count("approvals: approved and canceled");
      return true;
    }

    /** A rejected mail is refused with what the person said, under any key. */
    async function askAgain(): Promise<void> {
      const again = { ...whole, ...body(texts.get(version) ?? 0), sendAt: undefined };
      const answer = await answerTo(agent, "POST", path, { body: again, key: `again-${token}` });
      const { code, draftId, reason } = answer?.body ?? {};
      if (answer === undefined || (code === "draft_rejected" && draftId === draft.id && reason === `No ${token}`))
        return;
      wrong("was rejected, and asked for again", answer);
    }

    return {
      change,
      async decideWrongly() {
        const byAgent = await decide("approve", version, agent);
        if (byAgent !== undefined && byAgent.status !== 403) wrong("was decided by its agent", byAgent);
        if (version === 1) return;
        const tooOld = await decide(chance.pick(["approve", "reject"]), version - 1);
        if (tooOld !== undefined && tooOld.status !== 412) wrong("was decided in an old version", tooOld);
      },
      async approve() {
        const answer = await decide("approve");
        if (answer?.status === 412) wrong("was not approved", answer);
        await conclude();
      },
      async reject() {
        await decide("reject");
        await conclude();
        if (draft.end === "rejected" && chance.is(0.5)) await askAgain();
        else if (draft.end !== "rejected" && draft.end !== undefined) wrong("was rejected", undefined);
      },
      async cancel() {
        await answerTo(agent, "POST", `/messages/${draft.id}/cancel`);
        await conclude();
      },
      /** Two people at once, or a person and the agent. */
      async both() {
        const cancel = () => answerTo(agent, "POST", `/messages/${draft.id}/cancel`);
        const mayBeCanceled = chance.is(0.5);
        await Promise.all([decide("approve"), mayBeCanceled ? cancel() : decide("reject")]);
        await conclude(mayBeCanceled);
      },
      /** A change at the time of the approval. If it came first, the mail waits for another decision. */
      async late() {
        await Promise.all([decide("approve"), change()]);
        await conclude();
        if (draft.end === "waiting" && chance.is(0.5)) {
          await decide("approve");
          await conclude();
        }
      },
      /** A change after the approval of a mail that is due later. It waits for another decision unless it is sent. */
      async changed() {
        await decide("approve");
        const answer = await change();
        if (answer?.status === 200 && answer.body.state !== "awaiting_approval")
          wrong("was changed after its approval, and does not wait", answer);
        if (answer?.status === 200) draft.dueMs = never;
        if (answer?.status === 200 && chance.is(0.5)) await decide("approve");
        await conclude();
      },
      /** Until it expires, which a decision may forestall. */
      async letExpire() {
        await Bun.sleep(chance.whole(0, 2 * hurriedMs));
        if (chance.is(0.5)) await decide(chance.pick(["approve", "reject"]));
        else await untilExpired(draft.id);
        await conclude();
      },
      async leave() {
        await conclude();
      },
    };
  }

  async function untilExpired(id: string): Promise<void> {
    await eventually(world, chance, async () => {
      const { status, body } = await ask(world, person, "GET", `/drafts/${id}`);
      return status === 200 && body.state === "expired";
    });
  }

  /** Repeats a request until its answer decides. Undefined if there was none. */
  async function answerTo(
    account: LedgerAccount,
    method: string,
    path: string,
    asked?: Asked,
  ): Promise<Answer | undefined> {
    let decided: Answer | undefined;
    await eventually(world, chance, async () => {
      const answer = await ask(world, account, method, path, asked);
      const isLater = [500, 503].includes(answer.status) || waits.includes(String(answer.body.code));
      if (!isLater) decided = answer;
      return !isLater;
    });
    return decided;
  }
}

/** The time after which hurried mail expires. */
export const hurriedMs = 2_000;
const never = Number.POSITIVE_INFINITY;
const waits = ["idempotency_in_progress", "send_in_progress"];
