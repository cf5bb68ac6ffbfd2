import { the } from "./elements.ts";
import { highlight } from "./highlight.ts";
import { type Draft, type Language, sampleOf } from "./samples.ts";

/** The language of the code, which is one for all forms. */
export interface Spoken {
  language: () => Language;
  speak: (language: Language) => void;
}

/** The code beneath a form: in the language that was chosen, to be copied. */
export function sampleView(form: HTMLFormElement, draft: () => Draft, { language, speak }: Spoken) {
  const code = the("pre code", form);
  form.addEventListener("click", ({ target }) => {
    const tab = (target as Element).closest<HTMLElement>("[data-language]");
    if (tab) speak(tab.dataset.language as Language);
    const copy = (target as Element).closest(".copy");
    if (copy) copyText(code.textContent, copy);
  });
  return function draw(): void {
    for (const tab of form.querySelectorAll<HTMLElement>("[data-language]")) {
      tab.setAttribute("aria-pressed", String(tab.dataset.language === language()));
    }
    code.textContent = sampleOf(language(), draft());
    highlight(code);
  };
}

function copyText(text: string, button: Element): void {
  // Only pages with TLS and those of this machine may write to the clipboard.
  const copied = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error("no clipboard"));
  const tell = (word: string) => {
    button.textContent = word;
  };
  copied.then(
    () => tell("Copied"),
    () => tell("Select it"),
  );
  button.addEventListener("blur", () => tell("Copy"), { once: true });
}
