import { describe, expect, test } from "bun:test";
import { takeIn } from "../../support/arrivals.ts";
import { enginesHere } from "../../support/engines.ts";
import { send } from "../../support/sends.ts";
import { oneWorldOn } from "../../support/world-on.ts";

const conversations = 10;
const mailsOfEach = 12;
/** How many answers it comes to depends on how the mails fall between them. */
const unlimited = { SENDS_PER_MINUTE: "0", SENDS_PER_DAY: "0", COLD_RECIPIENT_DAILY: "0", LOOP_ECHOES: "0" };

for (const engine of enginesHere()) {
  describe(`An agent on ${engine}`, () => {
    const world = oneWorldOn(engine, { env: unlimited });

    test("that lists unread threads, reads, answers and marks misses no mail that pours in meanwhile", async () => {
      const inbox = await world().inbox();
      const list = async (query: string) => (await world().api(`/v1/inboxes/${inbox.id}/threads${query}`)).body;
      const handled = new Map<string, number>();
      const late = new Set(["answer", "mark"]);
      const mails = conversations * mailsOfEach + late.size;
      let pouring = true;

      async function arrive(number: number | string, round: number): Promise<void> {
        const root = `talk-${number}-${inbox.id}@example.com`;
        const fields = round === 0 ? { messageId: root } : { inReplyTo: [root] };
        await takeIn(world().service.deps, inbox, [{ ...fields, bodyText: `${number}.${round}` }]);
      }

      async function pour(): Promise<void> {
        for (let round = 0; round < mailsOfEach; round++) {
          for (let number = 0; number < conversations; number++) await arrive(number, round);
        }
        pouring = false;
      }

      /** Up to the last message seen, and no further: by its answer for one half of the threads, by a mark for the other. */
      async function handle(thread: { id: string }, answers: boolean): Promise<void> {
        const { data } = (await world().api(`/v1/threads/${thread.id}/messages`)).body;
        // What pours comes in between when it happens to; this one always does, once for an answer and once for a mark.
        if (late.delete(answers ? "answer" : "mark")) await arrive(data[0].bodyText.split(".")[0], mailsOfEach);
        const inbound = data.filter(({ direction }: { direction: string }) => direction === "inbound");
        for (const { bodyText, id } of inbound) if (!handled.has(id)) handled.set(id, Number(bodyText));
        const last = data.at(-1).id;
        if (answers) {
          const body = { threadId: thread.id, subject: undefined, includeQuote: false, readUpToMessageId: last };
          expect(await send(world(), inbox.id, body)).toMatchObject({ status: 200 });
        } else {
          const body = { is_read: true, up_to_message_id: last };
          expect((await world().api(`/v1/threads/${thread.id}`, { method: "PATCH", body })).status).toBe(200);
        }
      }

      const poured = pour();
      let refused = 0;
      for (;;) {
        // Asked before the list: the last mail may come between the list's answer and a later look.
        const isLast = !pouring;
        const unread = await list("?is_read=false&limit=5");
        if (isLast && unread.total === 0) break;
        for (const [index, thread] of unread.data.entries()) {
          await handle(thread, index % 2 === 0);
          const [now] = (await list("?limit=100")).data.filter(({ id }: { id: string }) => id === thread.id);
          if (!now.isRead) refused += 1;
        }
      }
      await poured;
      expect(handled.size).toBe(mails);
      expect((await list("?is_read=false")).total).toBe(0);
      expect((await list("")).data.every(({ isRead }: { isRead: boolean }) => isRead)).toBe(true);
      expect(late.size).toBe(0);
      expect(refused).toBeGreaterThanOrEqual(2);
    }, 60_000);
  });
}
