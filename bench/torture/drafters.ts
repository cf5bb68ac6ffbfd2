import type { Chance } from "../../tests/support/chance.ts";
import { type LedgerDraft, type LedgerInbox, newSend } from "./ledger.ts";
import { type Answer, type Asked, ask, type Driver, eventually, type World } from "./world.ts";

/** A client that writes drafts and changes them, then sends each now or later, takes it back, discards it, or leaves it. */
export function drafter(world: World, chance: Chance, name: string, from: readonly LedgerInbox[]): Driver {
  const { ledger } = world;
  let number = 0;

  return async function draftOnce() {
    const draft = await create(chance.pick(from));
    if (draft === undefined) return;
    while (chance.is(0.4)) await change(draft);
    const end = chance.pick([schedule, schedule, schedule, schedule, sendNow, sendNow, discard, leave]);
    await end(draft);
  };

  async function create(inbox: LedgerInbox): Promise<LedgerDraft | undefined> {
    number += 1;
    const token = `d${name}n${number}x`;
    const send = newSend(token, inbox);
    const draft: LedgerDraft = { send, id: "", texts: new Set([0]), relayed: new Set(), dueMs: never, end: undefined };
    ledger.copies.set(token, send);
    ledger.drafts.set(token, draft);
    const file = { filename: "a.txt", content: Buffer.from(token).toString("base64") };
    const mail = { to: `${token}@far1.example`, subject: token, ...(chance.is(0.3) && { attachments: [file] }) };
    const body = { ...mail, ...textOf(draft, 0) };
    const once = () => answerTo(draft, "POST", `/inboxes/${inbox.id}/drafts`, { body, key: `draft-${token}` });
    const answers = await (chance.is(0.15) ? Promise.all([once(), once()]) : [await once()]);
    const ids = answers.flatMap((answer) => (answer?.status === 201 ? [String(answer.body.id)] : []));
    if (new Set(ids).size > 1)
      ledger.violation("I4", `the key of draft ${token} was answered with ${ids.join(" and ")}`);
    if (answers.some((answer) => answer !== undefined && answer.status !== 201)) refused(draft, "create", answers[0]);
    draft.id = ids[0] ?? "";
    ledger.count("drafts: written");
    return draft.id === "" ? undefined : draft;
  }

  function textOf({ send }: LedgerDraft, text: number): { body: string } {
    return { body: `This is ${send.token}v${text}z` };
  }

  /** Changes the text. A mail that is scheduled may be sent before. */
  async function change(draft: LedgerDraft): Promise<void> {
    const text = Math.max(...draft.texts) + 1;
    draft.texts.add(text);
    const answer = await answerTo(draft, "PATCH", `/drafts/${draft.id}`, { body: textOf(draft, text) });
    if (answer?.status === 200) draft.texts = new Set([text]);
    else if (answer !== undefined && !isSent(answer)) refused(draft, "change", answer);
  }

  async function schedule(draft: LedgerDraft): Promise<void> {
    // An answer may be lost, and the time is then named again.
    draft.dueMs = Date.now() + chance.whole(100, 3000);
    if (!(await send(draft, { sendAt: new Date(draft.dueMs).toISOString() }))) return;
    ledger.count("drafts: scheduled");
    if (chance.is(0.4)) await change(draft);
    // Often when it is due.
    if (chance.is(0.6)) await Bun.sleep(Math.max(0, draft.dueMs - Date.now() + chance.whole(-300, 300)));
    if (chance.is(0.5)) return cancel(draft);
    if (chance.is(0.2)) return takeBack(draft);
    promise(draft);
  }

  async function sendNow(draft: LedgerDraft): Promise<void> {
    draft.dueMs = Date.now();
    const both = await Promise.all(chance.is(0.2) ? [send(draft), send(draft)] : [send(draft)]);
    if (both.includes(true)) promise(draft);
  }

  async function send(draft: LedgerDraft, body: object = {}): Promise<boolean> {
    const key = `send-${draft.send.token}`;
    const answer = await answerTo(draft, "POST", `/drafts/${draft.id}/send`, { body, key });
    if (answer === undefined) return false;
    if (answer.status !== 200) refused(draft, "send", answer);
    if (answer.status === 200 && answer.body.messageId !== draft.id)
      ledger.violation("I4", `draft ${draft.id} was sent as ${answer.body.messageId}`);
    return answer.status === 200;
  }

  /** The mail is waited for, and must be there once. */
  function promise(draft: LedgerDraft): void {
    draft.end = "sent";
    draft.send.messageIds.add(draft.id);
    ledger.sends.set(draft.send.token, draft.send);
  }

  async function cancel(draft: LedgerDraft): Promise<void> {
    const answer = await (chance.is(0.3)
      ? answerTo(draft, "DELETE", `/drafts/${draft.id}`)
      : answerTo(draft, "POST", `/messages/${draft.id}/cancel`));
    if (answer === undefined) return;
    if (!["not_cancelable", "draft_not_open", undefined].includes(answer.body.code as string | undefined))
      return refused(draft, "cancel", answer);
    // An earlier cancellation, whose answer was lost, is refused too.
    const message = await answerTo(draft, "GET", `/messages/${draft.id}`);
    if (message === undefined) return;
    const { failure, mayHaveBeenSent, state } = message.body as {
      failure: { reason: string } | null;
      mayHaveBeenSent?: boolean;
      state: string | null;
    };
    if (failure?.reason === "canceled") {
      draft.end = mayHaveBeenSent ? undefined : "canceled";
      ledger.count(mayHaveBeenSent ? "drafts: canceled, may have been sent" : "drafts: canceled");
    } else if (answer.status < 300 || state !== null) {
      ledger.violation(
        "drafts",
        `${draft.id} was canceled with ${answer.status}, and is ${JSON.stringify(message.body)}`,
      );
    } else promise(draft);
  }

  /** A scheduled mail without a time is a draft again. */
  async function takeBack(draft: LedgerDraft): Promise<void> {
    const answer = await answerTo(draft, "PATCH", `/drafts/${draft.id}`, { body: { sendAt: null } });
    if (answer?.status === 200) return leave(draft);
    if (answer === undefined) return;
    if (isSent(answer)) promise(draft);
    else refused(draft, "take back", answer);
  }

  async function discard(draft: LedgerDraft): Promise<void> {
    const answer = await answerTo(draft, "DELETE", `/drafts/${draft.id}`);
    // An earlier one may have had no answer.
    if (answer !== undefined && answer.status !== 204 && answer.status !== 404) refused(draft, "discard", answer);
    if (answer !== undefined) draft.end = "removed";
    ledger.count("drafts: removed");
  }

  async function leave(draft: LedgerDraft): Promise<void> {
    draft.end = "left";
    ledger.count("drafts: left");
  }

  function isSent({ body }: Answer): boolean {
    return body.code === "draft_not_open" && body.state === "sent";
  }

  function refused({ send }: LedgerDraft, doing: string, answer: Answer | undefined): void {
    ledger.violation(
      "api",
      `${doing} draft ${send.token} was answered ${answer?.status}: ${JSON.stringify(answer?.body)}`,
    );
  }

  /** Repeats a request until its answer decides. Undefined if there was none. */
  async function answerTo(
    { send }: LedgerDraft,
    method: string,
    path: string,
    asked?: Asked,
  ): Promise<Answer | undefined> {
    let decided: Answer | undefined;
    await eventually(world, chance, async () => {
      const answer = await ask(world, send.inbox.account, method, path, asked);
      const isLater = [500, 503].includes(answer.status) || waits.includes(String(answer.body.code));
      if (!isLater) decided = answer;
      return !isLater;
    });
    return decided;
  }
}

const never = Number.POSITIVE_INFINITY;
const waits = ["idempotency_in_progress", "send_in_progress"];
