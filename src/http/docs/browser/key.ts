import { kept, the } from "./elements.ts";

export interface Key {
  read(): string;
  headers(isNeeded: boolean): [string, string][];
  /** Says why a key is needed, and puts the cursor where it goes. */
  ask(why: string): void;
  told(text: string): void;
}

/** The API key: kept for this tab and no longer, and sent nowhere but to this server. */
export function keyField(changed: () => void): Key {
  const form = the<HTMLFormElement>("#key");
  const input = the<HTMLInputElement>("#api-key");
  const told = the("#key-told");
  const stored = kept(() => sessionStorage, "inboxd-api-key");
  input.value = stored.read();
  const take = () => {
    if (input.value.trim() === stored.read()) return;
    stored.write(input.value.trim());
    changed();
  };
  input.addEventListener("change", take);
  // Who goes on by a click into a form has the key taken before it is needed.
  input.addEventListener("input", () => {
    told.textContent = "";
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    take();
  });
  return {
    read: () => {
      take();
      return stored.read();
    },
    headers: (isNeeded) => (isNeeded ? [["Authorization", `Bearer ${stored.read()}`]] : []),
    ask(why) {
      told.textContent = why;
      input.focus();
    },
    told(text) {
      told.textContent = text;
    },
  };
}
