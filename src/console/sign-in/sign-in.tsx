import { useState } from "preact/hooks";
import { noAnswer } from "../api.ts";
import { Command } from "../parts/command.tsx";
import { Mark } from "../parts/icon.tsx";
import { useTitle } from "../parts/page.tsx";
import { isInsecure, signIn } from "../session.ts";

/** The sign-in form. `why` is the reason why a session or a link is no longer valid. */
export function SignIn({ why }: { why: string | undefined }) {
  const [fault, setFault] = useState(why);
  const [isBusy, setIsBusy] = useState(false);
  useTitle("Sign in");

  async function enter(event: SubmitEvent) {
    event.preventDefault();
    const key = String(new FormData(event.currentTarget as HTMLFormElement).get("key") ?? "").trim();
    if (key === "") return setFault("Enter the API key that the first start printed.");
    setIsBusy(true);
    setFault(await signIn(key).catch(() => noAnswer));
    setIsBusy(false);
  }

  return (
    <main class="sign-in">
      <div class="sign-in-card">
        <Mark />
        <h1>Sign in to inboxd</h1>
        {isInsecure() ? (
          <p class="fault">
            The console needs <strong>https</strong>: over plain http, the browser does not keep the session. Open the
            console over https, or on the machine that runs the service.
          </p>
        ) : (
          <form onSubmit={(event) => void enter(event)}>
            <label for="key">API key</label>
            <input
              id="key"
              name="key"
              type="password"
              autocomplete="off"
              spellcheck={false}
              placeholder="ibx_…"
              aria-invalid={fault !== undefined}
              aria-describedby="key-fault"
            />
            <p id="key-fault" class="field-fault" role="alert">
              {fault}
            </p>
            <button type="submit" class="primary" disabled={isBusy}>
              Sign in
            </button>
          </form>
        )}
        <div class="sign-in-other">
          <p>On the machine that runs the service, this command opens the console without a key:</p>
          <Command line="inboxd console" />
        </div>
      </div>
    </main>
  );
}
