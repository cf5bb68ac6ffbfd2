import type { MailOutcome } from "../../domain/receive/inbound-mail.ts";
import type { judgeFailures, Opinion } from "../../domain/receive/opinion.ts";
import type { AskJudge, JudgeQuestion } from "../../webhook/judge.ts";
import type { Deps } from "../deps.ts";
import type { ReceivedMail } from "./arrival.ts";

export interface AskingDeps extends Pick<Deps, "now" | "newId" | "log"> {
  ask: AskJudge;
  fails: (typeof judgeFailures)[number];
}

type Receive = (mail: ReceivedMail) => Promise<MailOutcome>;

/**
 * Asks the operator's judge about each mail before it is filed. The opinion is a fact for the rules of the inboxes, and its spam score is
 * stored with the message.
 */
export function withOpinion(deps: AskingDeps, receive: Receive): Receive {
  const { now, newId, log, ask, fails } = deps;
  let isAway = false;

  /** Logs when the judge falls silent and when it answers again, and not for each mail. */
  function noteAnswer(fault: string | undefined): void {
    if (fault !== undefined && !isAway) log.warn({ fault }, "the judge of inbound mail gives no opinion");
    if (fault === undefined && isAway) log.info("the judge of inbound mail answers again");
    isAway = fault !== undefined;
  }

  return async (received) => {
    const at = now();
    const answer = await ask(questionOf(received, { id: newId("src", at), at }));
    if (answer === undefined) return receive(received);
    const opinion: Opinion = typeof answer === "string" ? { action: fails, spam: undefined } : answer;
    noteAnswer(typeof answer === "string" ? answer : undefined);
    const { action, reason } = opinion;
    if (action !== "take") log.info({ action, reason, size_bytes: received.raw.length }, "mail judged");
    return receive({ ...received, opinion });
  };
}

function questionOf(
  { raw, envelope, authentication }: ReceivedMail,
  question: Pick<JudgeQuestion, "id" | "at">,
): JudgeQuestion {
  const { from: envelopeFrom, recipients, client } = envelope;
  // Behind a proxy without the PROXY protocol, only the sender authentication may know the host.
  const address = client === undefined || client.isProxy ? undefined : client.address;
  return {
    ...question,
    raw,
    envelopeFrom,
    recipients: recipients.map(({ toAddr }) => toAddr),
    clientAddress: authentication?.clientAddress ?? address,
    heloName: client?.heloName,
    authentication,
  };
}
