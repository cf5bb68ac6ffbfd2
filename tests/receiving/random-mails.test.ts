import { expect, test } from "bun:test";
import { busiest } from "../support/busy.ts";
import { mailSeed, mostBusyMs, randomMail } from "../support/random-mails.ts";
import { watchesClock } from "../support/watches-clock.ts";
import { startWorld } from "../support/world.ts";

test("300 random mails by SMTP are accepted and listed as JSON", { ...watchesClock, timeout: 120_000 }, async () => {
  await using world = await startWorld();
  const inbox = await world.inbox();
  let taken = 0;
  for (let number = 0; number < 300; number++) {
    const raw = randomMail(mailSeed, number);
    // The client works in this thread too, and would take most of the time for a large mail.
    if (raw.length > 256 * 1024) continue;
    const about = `mail ${number} of MAIL_SEED=${mailSeed}`;
    const { result, busyMs } = await busiest(() => world.deliver(raw, inbox.address));
    // Refusals are for mail that another server might read as two, and for mail in a loop.
    expect(result, about).toMatch(/^(?:250|550 5\.6\.0|554 5\.4\.6)/);
    expect(busyMs, about).toBeLessThan(mostBusyMs);
    if (result.startsWith("250")) taken += 1;
  }
  expect(taken).toBeGreaterThan(200);
  const ids = new Set<string>();
  for (let offset = 0, total = 1; offset < total; offset += 20) {
    const { status, body } = await world.api(`/v1/inboxes/${inbox.id}/messages?limit=20&offset=${offset}`);
    expect(status).toBe(200);
    total = body.total;
    for (const { id } of body.data) ids.add(id);
  }
  // Two mails may be copies of each other.
  expect(ids.size).toBeLessThanOrEqual(taken);
  expect(ids.size).toBeGreaterThan(taken / 2);
});
