import { useState } from "preact/hooks";
import { errorText, inboxd, type Schemas } from "../api.ts";
import { notify } from "../frame/notice.tsx";
import { useBusy } from "../parts/busy.ts";
import { LoadState } from "../parts/load-state.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { may } from "../session.ts";

type Inbound = Schemas["InboundPolicy"];
type SendPolicy = Schemas["Inbox"]["sendPolicy"];

interface Choice {
  label: string;
  /** The values, each in words. The first is the default. */
  words: Readonly<Record<string, string>>;
}

const inboundChoices: Readonly<Record<keyof Inbound, Choice>> = {
  unlisted: {
    label: "Mail that no rule allows",
    words: { accept: "is taken", replies: "is taken if it answers ours", block: "is blocked" },
  },
  unauthenticated: {
    label: "Mail whose sender is not proven",
    words: { accept: "is taken", block: "is blocked" },
  },
  dmarc: {
    label: "Mail that its domain disowns",
    words: { ignore: "is taken", honour: "is blocked" },
  },
  spam: {
    label: "Mail that the spam filter marks",
    words: { ignore: "is taken", block: "is blocked" },
  },
  blocked: {
    label: "Mail that is blocked",
    words: { quarantine: "goes into quarantine", refuse: "is refused" },
  },
};

const sending: Choice = {
  label: "Mail is sent",
  words: { open: "to everybody", known: "to known recipients alone", closed: "to nobody" },
};

const inheritedTexts = { account: "It is that of the account.", tenant: "It is that of its tenant." } as const;

interface Shown {
  inherited: "account" | "tenant" | null;
  inbound: Inbound;
  /** Undefined if the session may not change it. */
  sendPolicy: SendPolicy | undefined;
}

/** The policy of the account, of the tenant of the session's key, or of one inbox. */
export function PolicySection({ inboxId }: { inboxId: string | undefined }) {
  const policy = useLoaded(() => shownPolicy(inboxId), [inboxId]);
  const { isBusy, unlessBusy } = useBusy();
  const [fault, setFault] = useState<string | undefined>(undefined);
  const shown = policy.value;

  async function work(change: () => Promise<unknown>, done: string) {
    try {
      await change();
      notify(done);
      setFault(undefined);
    } catch (error) {
      setFault(errorText(error));
    }
    policy.reload();
  }

  async function save(form: HTMLFormElement, before: Shown) {
    const entered = new FormData(form);
    const inbound = Object.fromEntries(
      Object.keys(inboundChoices).map((name) => [name, entered.get(name)]),
    ) as unknown as Inbound;
    const sendPolicy = (entered.get("sendPolicy") ?? undefined) as SendPolicy | undefined;
    const isInbound = Object.entries(before.inbound).some(([name, word]) => inbound[name as keyof Inbound] !== word);
    if (isInbound) {
      if (inboxId === undefined) await inboxd.policies.change({ inbound });
      else await inboxd.policies.changeOfInbox(inboxId, { inbound });
    }
    if (sendPolicy === undefined || sendPolicy === before.sendPolicy) return;
    if (inboxId === undefined) await inboxd.account.change({ sendPolicy });
    else await inboxd.inboxes.change(inboxId, { sendPolicy });
  }

  return (
    <section class="section" aria-labelledby="policy">
      <div class="section-head">
        <h2 id="policy">Policy</h2>
      </div>
      <p class="quiet-text">
        What happens to mail that no rule decides. {shown?.inherited && inheritedTexts[shown.inherited]}
      </p>
      <LoadState of={policy} />
      {shown && (
        <form
          class="policy"
          // A new form for each loaded policy, so that it shows what is stored.
          key={JSON.stringify(shown)}
          onSubmit={(event) => {
            event.preventDefault();
            const form = event.currentTarget;
            void unlessBusy(() => work(() => save(form, shown), "The policy is saved"));
          }}
        >
          {Object.entries(inboundChoices).map(([name, choice]) => (
            <ChoiceField key={name} name={name} choice={choice} value={shown.inbound[name as keyof Inbound]} />
          ))}
          {shown.sendPolicy !== undefined && (
            <ChoiceField name="sendPolicy" choice={sending} value={shown.sendPolicy} />
          )}
          <div class="actions">
            <button type="submit" disabled={isBusy}>
              Save
            </button>
            {inboxId !== undefined && shown.inherited === null && (
              <button
                type="button"
                class="quiet"
                disabled={isBusy}
                onClick={() =>
                  void unlessBusy(() => work(() => inboxd.policies.deleteOfInbox(inboxId), "The policy is inherited"))
                }
              >
                Use the policy of the account
              </button>
            )}
          </div>
          <p class="field-fault" role="alert">
            {fault}
          </p>
        </form>
      )}
    </section>
  );
}

function ChoiceField({ name, choice: { label, words }, value }: { name: string; choice: Choice; value: string }) {
  return (
    <>
      <label for={`policy-${name}`}>{label}</label>
      <select id={`policy-${name}`} name={name} defaultValue={value}>
        {Object.entries(words).map(([word, text]) => (
          <option key={word} value={word} selected={word === value}>
            {text}
          </option>
        ))}
      </select>
    </>
  );
}

async function shownPolicy(inboxId: string | undefined): Promise<Shown> {
  if (inboxId !== undefined) {
    const [policy, inbox] = await Promise.all([inboxd.policies.ofInbox(inboxId), inboxd.inboxes.get(inboxId)]);
    return { inherited: policy.inherited, inbound: policy.inbound, sendPolicy: inbox.sendPolicy };
  }
  const { inherited, inbound } = await inboxd.policies.get();
  return { inherited, inbound, sendPolicy: may("account") ? (await inboxd.account.get()).sendPolicy : undefined };
}
