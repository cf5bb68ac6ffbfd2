import { kept, the } from "./elements.ts";

export interface Key {
  read(): string;
  headers(isNeeded: boolean): [string, string][];
  /** Shows why a key is needed, and focuses the field. */
  ask(why: string): void;
  show(text: string): void;
}

/**
 * The field of the API key. The key is stored for this tab only, and sent to this server only. The samples of code have
 * it.
 */
export function keyField(changed: () => void): Key {
  const form = the<HTMLFormElement>("#key");
  const input = the<HTMLInputElement>("#api-key");
  const status = the("#key-status");
  const stored = kept(() => sessionStorage, "inboxd-api-key");
  input.value = stored.read();
  const take = () => {
    if (input.value.trim() === stored.read()) return;
    stored.write(input.value.trim());
    changed();
  };
  input.addEventListener("change", take);
  // Typing only clears the status. The key is stored at `change`, `submit` and `read`.
  input.addEventListener("input", () => {
    status.textContent = "";
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
      status.textContent = why;
      input.focus();
    },
    show(text) {
      status.textContent = text;
    },
  };
}
