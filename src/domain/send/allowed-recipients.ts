import { Refusal } from "../errors.ts";
import { type SendPolicy, strictest } from "../policy.ts";
import { allowingRule, blockingRule, type RuleBook, sendPolicyOfTenant } from "../rules.ts";
import type { SendRequest } from "./send.ts";
import type { Sender } from "./send-facts.ts";

/** The policy for a send: the strictest of those of the account, the tenant, the inbox and the key. */
export function policyOfSend({ account }: SendRequest, sender: Sender, book: RuleBook | undefined): SendPolicy {
  return policyOfAccount(account, sender, book);
}

/** The same for a caller without a request to send. */
export function policyOfAccount(
  account: Pick<SendRequest["account"], "sendPolicy">,
  sender: Sender,
  book: RuleBook | undefined,
): SendPolicy {
  const { accountSendPolicy = "open", sendPolicy = "open", externalId = null } = sender;
  const ofTenant = book === undefined ? "open" : sendPolicyOfTenant(book, externalId);
  return strictest(accountSendPolicy, ofTenant, sendPolicy, account.sendPolicy ?? "open");
}

export function refuseDisabled({ disabled = false }: Sender): void {
  if (disabled) throw new Refusal("inbox_disabled", "Cannot send: the inbox is disabled");
}

export function refuseClosed(policy: SendPolicy): void {
  if (policy === "closed")
    throw new Refusal(
      "sending_disabled",
      'Cannot send: the "sendPolicy" of the account, the tenant, the inbox or the key is "closed"',
    );
}

/** The facts that decide whether the recipients of a send are allowed. */
export interface Allowing {
  policy: SendPolicy;
  sender: Sender;
  /** Undefined if the account has no rules. */
  book: RuleBook | undefined;
  /** Whether a recipient is known. It is asked only if the policy is `known`. */
  isKnown: (address: string) => boolean;
}

/**
 * Refuses a send to recipients that an outbound rule blocks, or that are not known although the policy asks for it. A block rule beats all
 * else. An allow rule makes a recipient known.
 */
export function refuseNotAllowed(recipients: readonly string[], { policy, sender, book, isKnown }: Allowing): void {
  const inbox = { id: sender.id, externalId: sender.externalId ?? null };
  if (book !== undefined && book.rules.size > 0) {
    const blocked = recipients.flatMap((address) => {
      const rule = blockingRule(book, inbox, "outbound", [address]);
      return rule === undefined ? [] : [{ address, ruleId: rule.id }];
    });
    const [first] = blocked;
    if (first !== undefined) {
      const addresses = blocked.map(({ address }) => address);
      throw notAllowed(addresses, `the rule ${first.ruleId} blocks ${addresses.join(", ")}`, first.ruleId);
    }
  }
  if (policy !== "known") return;
  const isAllowed = (address: string) =>
    isKnown(address) || (book !== undefined && allowingRule(book, inbox, "outbound", address) !== undefined);
  const unknown = recipients.filter((address) => !isAllowed(address));
  if (unknown.length === 0) return;
  const why = `"sendPolicy" is "known", and this inbox knows no mail from ${unknown.join(", ")}`;
  throw notAllowed(unknown, why, null);
}

function notAllowed(recipients: readonly string[], why: string, ruleId: string | null): Refusal {
  return new Refusal("recipient_not_allowed", `Cannot send: ${why}`, { extra: { recipients, rule_id: ruleId } });
}
