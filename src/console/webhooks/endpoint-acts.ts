import { go, href } from "../address.ts";
import { inboxd, wordsOf } from "../api.ts";
import { tell } from "../frame/notice.tsx";
import { latencyWords } from "../words.ts";

interface Told {
  onDone(): void;
  onSecret(secret: string): void;
}

/** What can be done with an endpoint; each says what came of it. */
export function endpointActs(id: string, { onDone, onSecret }: Told) {
  async function act(work: () => Promise<string>): Promise<void> {
    try {
      tell(await work());
      onDone();
    } catch (error) {
      tell(wordsOf(error), "bad");
    }
  }
  return {
    test: () =>
      act(async () => {
        const { delivered, status, latencyMs, error } = await inboxd.webhooks.test(id);
        const took = latencyWords(latencyMs);
        if (!delivered) throw new Error(`It did not take the test: ${error ?? status ?? "no answer"} after ${took}`);
        return `It took the test: ${status} after ${took}`;
      }),
    change: (disabled: boolean) =>
      act(async () => {
        await inboxd.webhooks.change(id, { disabled });
        return disabled ? "It is told nothing now" : "It is told again";
      }),
    remove: () =>
      act(async () => {
        await inboxd.webhooks.delete(id);
        go(href("webhooks"), true);
        return "The endpoint is deleted";
      }),
    rotate: () =>
      act(async () => {
        onSecret((await inboxd.webhooks.rotateSecret(id)).secret);
        return "There is a new secret; the old one holds for a while";
      }),
  };
}
