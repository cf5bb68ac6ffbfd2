import { useState } from "preact/hooks";
import { href } from "../address.ts";
import { noAnswer } from "../api.ts";
import { Mark } from "../parts/icon.tsx";
import { useTitle } from "../parts/page.tsx";
import { type OpenLink, signInByLink } from "../session.ts";

/** Asks before a link replaces the current session, because anybody may have sent the link. */
export function OtherAccount({ link: { token, account, current }, onKeep }: { link: OpenLink; onKeep: () => void }) {
  const [fault, setFault] = useState<string>();
  const [isBusy, setIsBusy] = useState(false);
  useTitle("Sign in");

  async function change() {
    setIsBusy(true);
    const result = await signInByLink(token, true).catch(() => noAnswer);
    // Loads the page again, so that no mail of the other account stays in memory.
    if (result === undefined) return location.replace(href(""));
    setFault(typeof result === "string" ? result : undefined);
    setIsBusy(false);
  }

  return (
    <main class="sign-in">
      <div class="sign-in-card">
        <Mark />
        <h1>You are already signed in</h1>
        <p>
          This browser is signed in as <strong>{current}</strong>. The link that you opened signs in as{" "}
          <strong>{account}</strong> instead. If you did not create this link, stay signed in.
        </p>
        <p class="field-fault" role="alert">
          {fault}
        </p>
        <div class="actions">
          <button type="button" class="primary" onClick={onKeep}>
            Stay signed in as {current}
          </button>
          <button type="button" disabled={isBusy} onClick={() => void change()}>
            Sign in as {account}
          </button>
        </div>
      </div>
    </main>
  );
}
