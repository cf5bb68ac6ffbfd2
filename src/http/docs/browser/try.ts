import { read, show } from "./answer.ts";
import { element, kept, the } from "./elements.ts";
import { requestForm } from "./form.ts";
import type { Key } from "./key.ts";
import type { Known } from "./known.ts";
import { type Ask, lookUp, remedies } from "./look-up.ts";
import { type SampleLanguage, sampleView } from "./sample-view.ts";
import type { Language } from "./samples.ts";

export interface TryDeps {
  base: URL;
  key: Key;
  known: Known;
  ask: Ask;
  /** Makes six random letters and digits. */
  fresh: () => string;
  now: () => number;
}

/** Makes each form send its request and show the code that does the same. */
export function makeFormsWork(deps: TryDeps): { refresh: () => void } {
  const language = kept(() => localStorage, "inboxd-language");
  if (language.read() === "") language.write("curl");
  const forms = Array.from(document.querySelectorAll<HTMLFormElement>("form.try"), (form) =>
    oneForm(form, deps, {
      language: () => language.read() as Language,
      choose(chosen) {
        language.write(chosen);
        for (const { draw } of forms) draw();
      },
      refresh: () => refresh(),
    }),
  );
  const refresh = () => {
    for (const { fill } of forms) fill();
  };
  refresh();
  return { refresh };
}

interface AllForms extends SampleLanguage {
  refresh: () => void;
}

function oneForm(form: HTMLFormElement, deps: TryDeps, all: AllForms) {
  const request = requestForm(form, deps.base);
  const button = the<HTMLButtonElement>("button[type=submit]", form);
  const status = the(".send-status", form);
  const fault = form.querySelector<HTMLElement>(".fault");
  const label = button.textContent;
  const drawCode = sampleView(form, request.draft, { ...all, key: deps.key.read });
  let fresh = deps.fresh();
  let isAsked = false;

  function draw(): void {
    drawCode();
    if (!fault) return;
    const wrong = request.bodyFault();
    fault.hidden = wrong === undefined;
    fault.textContent = wrong === undefined ? "" : `Not JSON: ${wrong}`;
  }

  function fill(): void {
    request.fill(deps.known, fresh);
    draw();
  }

  function showStatus(...words: (string | Node)[]): void {
    status.replaceChildren(...words);
  }

  /**
   * Turns the question before a request that cannot be undone on or off. While it is on, the next click sends the
   * request.
   */
  function ask(isNow: boolean): void {
    isAsked = isNow;
    button.textContent = isNow ? "Really send it" : label;
  }

  async function send(): Promise<void> {
    showStatus();
    if (request.draft().needsKey && deps.key.read() === "") {
      deps.key.ask("Enter the API key that the first start printed");
      return showStatus("An API key is needed: enter it at the top.");
    }
    const missing = await lookUp(request.wants(), deps.known, deps.ask);
    all.refresh();
    const [sentence, link, words] = remedies[missing ?? ""] ?? [];
    if (sentence !== undefined) return showStatus(`${sentence} `, element("a", { href: link ?? "" }, words ?? ""));
    const wrong = request.fault();
    if (wrong !== undefined) return showStatus(wrong);
    if (request.isDangerous && !isAsked) {
      ask(true);
      return showStatus("This cannot be undone.");
    }
    ask(false);
    await carryOut();
  }

  async function carryOut(): Promise<void> {
    const { method, url, needsKey, headers, body } = request.draft();
    const startedAt = deps.now();
    const answer = await fetch(url, {
      method,
      headers: [...headers.map(([name, value]) => [name, value] as [string, string]), ...deps.key.headers(needsKey)],
      ...(body !== undefined && { body }),
    });
    const answered = await read(answer, deps.now() - startedAt);
    show(the("output", form), answered);
    if (answered.status === 401) deps.key.ask("This key was refused");
    if (answered.status === 404 || (answer.ok && method === "DELETE")) deps.known.forget();
    else if (answer.ok) deps.known.learn(answered.json);
    fresh = deps.fresh();
    all.refresh();
  }

  form.addEventListener("input", () => {
    ask(false);
    draw();
  });
  form.querySelector(".inputs select[aria-label]")?.addEventListener("change", ({ target }) => {
    request.choose((target as HTMLSelectElement).value);
    fill();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (button.disabled) return;
    button.disabled = true;
    send()
      .catch((error: Error) => showStatus(`The server did not answer: ${error.message}`))
      .finally(() => {
        button.disabled = false;
      });
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  form.noValidate = true;
  return { fill, draw };
}
