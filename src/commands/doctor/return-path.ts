import { describeOutbound, type SmtpOutbound } from "../../domain/outbound.ts";
import { returnPathLike } from "../../domain/reports/return-path.ts";
import type { SmtpSession } from "../../relay/smtp-session.ts";
import { replyAsLine } from "../../standards/smtp-reply.ts";
import { type Finding, findingsOf } from "./finding.ts";

/** Whether the relay takes an address of ours that is no inbox as the sender of a mail, which then isn't sent. */
export async function checkReturnPath(
  session: SmtpSession,
  outbound: SmtpOutbound,
  mailDomain: string,
): Promise<Finding> {
  const { ok, warn, fail } = findingsOf("relay return path");
  const relay = describeOutbound(outbound);
  const reply = await session.askSender(returnPathLike(mailDomain)).catch(() => undefined);
  if (reply === undefined) return warn(`${relay} says nothing to our return path`, "Ask again");
  if (reply.code < 300) return ok(`${relay} takes it: bounces come to an address of their own`);
  const seen = `${relay} refuses it: ${replyAsLine(reply)}`;
  if (reply.code !== 550 && reply.code !== 553) return warn(seen, "Look at what it says, then ask again");
  return fail(
    seen,
    `Let it take any sender at ${mailDomain}, or set RETURN_PATH=inbox: then bounces come to the inboxes as mail`,
  );
}
