import type { Limits } from "../../src/domain/limits.ts";

export const noLimits: Limits = {
  sendsPerMinute: 0,
  sendsPerDay: 0,
  coldRecipientDaily: 0,
  inboxesPerDay: 0,
  loopEchoes: 0,
  inboxes: 0,
  domains: 0,
  keys: 0,
  storageBytes: 0,
  inboxBytes: 0,
  receivesPerMinute: 0,
};
