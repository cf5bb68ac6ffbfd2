import { Refusal } from "../../domain/errors.ts";
import { approverAddresses, ownApprover } from "../../domain/send/approvers.ts";
import { domainOf } from "../../domain/send/recipients/destinations.ts";
import type { Deps } from "../deps.ts";
import type { OwnHosts } from "../own-hosts.ts";

export interface ApproversDeps extends Pick<Deps, "mailDomain"> {
  hosts: Pick<OwnHosts, "find">;
}

/** The approvers as they are stored. Refuses those at domains of accounts whose mail comes to this service. */
export async function checkedApprovers<Approvers extends readonly string[] | null | undefined>(
  deps: ApproversDeps,
  approvers: Approvers,
): Promise<string[] | Exclude<Approvers, readonly string[]>> {
  if (!approvers) return approvers as Exclude<Approvers, readonly string[]>;
  const faults: { pointer: string; detail: string }[] = [];
  for (const [index, address] of approvers.entries()) {
    if (await isReceivedHere(deps, address)) faults.push({ pointer: `#/approvers/${index}`, detail: ownApprover });
  }
  if (faults.length > 0)
    throw new Refusal("validation_error", `Cannot set approvers: an approver ${ownApprover}`, { faults });
  return approverAddresses(approvers, deps.mailDomain);
}

/** Whether mail to this address comes to this service, so that keys of accounts can read it. */
export async function isReceivedHere({ hosts, mailDomain }: ApproversDeps, address: string): Promise<boolean> {
  const domain = domainOf(address).toLowerCase();
  return domain === mailDomain.toLowerCase() || (await hosts.find(domain))?.isLocal === true;
}
