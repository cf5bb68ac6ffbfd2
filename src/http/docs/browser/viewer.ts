import { makeBlocks } from "./blocks.ts";
import { keyField } from "./key.ts";
import { newKnown } from "./known.ts";
import { type Ask, lookUp } from "./look-up.ts";
import { makeSearch } from "./search.ts";
import { makeFormsWork } from "./try.ts";
import { makeDrawer, makeThemeButton, showViews } from "./views.ts";

/** The script of the page. Only this file reads the clock and draws random numbers. */
makeThemeButton();
showViews();
makeDrawer();
makeSearch();

// The API's base address: the whole page is at `docs` below it.
const base = new URL(".", document.baseURI);
const known = newKnown();
const key = keyField(() => {
  known.forget();
  blocks.refresh();
  forms.refresh();
  void meet();
});
const blocks = makeBlocks(key.read);

const ask: Ask = async (path) => {
  const answer = await fetch(new URL(path, base), { headers: key.headers(true) });
  return { status: answer.status, body: await answer.json() };
};

const forms = makeFormsWork({
  base,
  key,
  known,
  ask,
  fresh: () => Array.from(crypto.getRandomValues(new Uint8Array(6)), (byte) => (byte % 36).toString(36)).join(""),
  now: () => performance.now(),
});

/** Fills the forms with values of the account, and shows whether the key is accepted. */
async function meet(): Promise<void> {
  const { status, body } = await ask("v1/inboxes?limit=1").catch(() => ({ status: 0, body: undefined }));
  key.show(status === 200 ? "Accepted" : status === 401 ? "Refused" : "");
  if (status !== 200) return;
  known.learn(body);
  await lookUp(["thread", "correspondent"], known, ask).catch(() => undefined);
  forms.refresh();
}

if (key.read() !== "") void meet();
