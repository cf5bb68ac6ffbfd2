import { Refusal } from "../errors.ts";
import { type SendRule, sendRuleOf } from "../policy.ts";
import { allowingRule, blockingRule, type RuleBook, sendPolicyOfTenant } from "../rules.ts";
import type { ApprovalNeed } from "./approval.ts";
import type { SendRequest } from "./send.ts";
import type { Sender } from "./send-facts.ts";

/** The rule for a send: that of the policies of the account, the tenant, the inbox and the key together. */
export function sendRule(
  { sendPolicies = [] }: Pick<SendRequest["account"], "sendPolicies">,
  { accountSendPolicy = "open", sendPolicy = "open", externalId = null }: Sender,
  book: RuleBook | undefined,
): SendRule {
  const ofTenant = book === undefined ? "open" : sendPolicyOfTenant(book, externalId);
  return sendRuleOf([accountSendPolicy, ofTenant, sendPolicy, ...sendPolicies]);
}

/** Whether a rule depends on which recipients are known. */
export function dependsOnKnown({ isClosed, refusesUnknown, asks }: SendRule): boolean {
  return !isClosed && (refusesUnknown || asks !== "never");
}

export function refuseDisabled({ disabled = false }: Sender): void {
  if (disabled) throw new Refusal("inbox_disabled", "Cannot send: the inbox is disabled");
}

export function refuseClosed({ isClosed }: SendRule): void {
  if (isClosed)
    throw new Refusal(
      "sending_disabled",
      'Cannot send: the "sendPolicy" of the account, the tenant, the inbox or the key is "closed"',
    );
}

/** The facts that decide whether the recipients of a send are allowed. */
export interface Allowing {
  rule: SendRule;
  sender: Sender;
  /** Undefined if the account has no rules. */
  book: RuleBook | undefined;
  /** Whether a recipient is known. It is asked only if the rule depends on it. */
  isKnown: (address: string) => boolean;
}

/**
 * Refuses a send to recipients that an outbound rule blocks, or that are not known although the policy asks for it. A block rule beats all
 * else. An allow rule makes a recipient known. Returns why the send needs the approval of a person; undefined if it needs none.
 */
export function refuseNotAllowed(
  recipients: readonly string[],
  { rule, sender, book, isKnown }: Allowing,
): ApprovalNeed | undefined {
  const inbox = { id: sender.id, externalId: sender.externalId ?? null };
  if (book !== undefined && book.rules.size > 0) {
    const blocked = recipients.flatMap((address) => {
      const blocking = blockingRule(book, inbox, "outbound", [address]);
      return blocking === undefined ? [] : [{ address, ruleId: blocking.id }];
    });
    const [first] = blocked;
    if (first !== undefined) {
      const addresses = blocked.map(({ address }) => address);
      throw notAllowed(addresses, `the rule ${first.ruleId} blocks ${addresses.join(", ")}`, first.ruleId);
    }
  }
  if (!dependsOnKnown(rule)) return undefined;
  const isAllowed = (address: string) =>
    isKnown(address) || (book !== undefined && allowingRule(book, inbox, "outbound", address) !== undefined);
  const unknown = recipients.filter((address) => !isAllowed(address));
  const hasNew = unknown.length > 0;
  if (hasNew && rule.refusesUnknown) {
    const why = `"sendPolicy" is "known", and this inbox knows no mail from ${unknown.join(", ")}`;
    throw notAllowed(unknown, why, null);
  }
  const isAlways = rule.asks === "always";
  if (rule.asks === "never" || !(isAlways || hasNew)) return undefined;
  const reasons = [isAlways && ("policy" as const), hasNew && ("new_recipient" as const)];
  return { reasons: reasons.filter((reason) => reason !== false), newRecipients: unknown };
}

function notAllowed(recipients: readonly string[], why: string, ruleId: string | null): Refusal {
  return new Refusal("recipient_not_allowed", `Cannot send: ${why}`, { extra: { recipients, rule_id: ruleId } });
}
