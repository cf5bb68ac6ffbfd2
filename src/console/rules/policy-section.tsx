import { useEffect, useId, useState } from "preact/hooks";
import { errorText, inboxd, type Schemas } from "../api.ts";
import { notify } from "../frame/notice.tsx";
import { useBusy } from "../parts/busy.ts";
import { LoadState } from "../parts/load-state.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { may } from "../session.ts";

type Inbound = Schemas["InboundPolicy"];
type SendPolicy = Schemas["Inbox"]["sendPolicy"];

interface Choice<Word> {
  label: string;
  /** The values, each in words. The first is the default. */
  words: readonly (readonly [Word, string])[];
}

const inboundChoices: { readonly [Name in keyof Inbound]: Choice<Inbound[Name]> } = {
  unlisted: {
    label: "Mail that no rule allows",
    words: [
      ["accept", "is taken"],
      ["replies", "is taken if it answers ours"],
      ["block", "is blocked"],
    ],
  },
  unauthenticated: {
    label: "Mail whose sender is not proven",
    words: [
      ["accept", "is taken"],
      ["block", "is blocked"],
    ],
  },
  dmarc: {
    label: "Mail that its domain disowns",
    words: [
      ["ignore", "is taken"],
      ["honour", "is blocked"],
    ],
  },
  spam: {
    label: "Mail that the spam filter marks",
    words: [
      ["ignore", "is taken"],
      ["block", "is blocked"],
    ],
  },
  blocked: {
    label: "Mail that is blocked",
    words: [
      ["quarantine", "goes into quarantine"],
      ["refuse", "is refused"],
    ],
  },
};

const sending: Choice<SendPolicy> = {
  label: "Mail is sent",
  words: [
    ["open", "to everybody"],
    ["known", "to known recipients alone"],
    ["approve_new", "to new recipients once a person approves"],
    ["approve_all", "once a person approves"],
    ["closed", "to nobody"],
  ],
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
  const policy = useLoaded(() => shownPolicy(inboxId), []);
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

  return (
    <section class="section" aria-labelledby="policy">
      <div class="section-head">
        <h2 id="policy">Policy</h2>
      </div>
      <p class="quiet-text">
        What happens to mail that no rule decides. {shown?.inherited && inheritedTexts[shown.inherited]}
      </p>
      <LoadState of={policy} />
      {shown && <PolicyForm inboxId={inboxId} shown={shown} work={work} />}
      <p class="field-fault" role="alert">
        {fault}
      </p>
    </section>
  );
}

/** The choices that are not stored yet. */
type Changed = Partial<Inbound & { sendPolicy: SendPolicy }>;

interface PolicyFormProps {
  inboxId: string | undefined;
  shown: Shown;
  /** Makes a change, and shows this text once it is done. */
  work(change: () => Promise<unknown>, done: string): Promise<void>;
}

function PolicyForm({ inboxId, shown, work }: PolicyFormProps) {
  const { isBusy, unlessBusy } = useBusy();
  const [changed, setChanged] = useState<Changed>({});
  const { sendPolicy, ...inbound } = { sendPolicy: shown.sendPolicy, ...shown.inbound, ...changed };
  const change = (next: Changed) => setChanged((last) => ({ ...last, ...next }));
  // Once a policy is loaded, a choice that it holds is no change any more. Choices made meanwhile stay.
  useEffect(() => setChanged((last) => changesOf(last, shown)), [shown]);

  async function save() {
    const { sendPolicy: chosen, ...changedInbound } = changed;
    if (Object.keys(changedInbound).length > 0) {
      if (inboxId === undefined) await inboxd.policies.change({ inbound });
      else await inboxd.policies.changeOfInbox(inboxId, { inbound });
    }
    if (chosen === undefined) return;
    if (inboxId === undefined) await inboxd.account.change({ sendPolicy: chosen });
    else await inboxd.inboxes.change(inboxId, { sendPolicy: chosen });
  }

  async function inherit(id: string) {
    await inboxd.policies.deleteOfInbox(id);
    setChanged({});
  }

  return (
    <form
      class="policy"
      onSubmit={(event) => {
        event.preventDefault();
        void unlessBusy(() => work(save, "The policy is saved"));
      }}
    >
      <ChoiceField
        {...inboundChoices.unlisted}
        value={inbound.unlisted}
        onChoose={(unlisted) => change({ unlisted })}
      />
      <ChoiceField
        {...inboundChoices.unauthenticated}
        value={inbound.unauthenticated}
        onChoose={(unauthenticated) => change({ unauthenticated })}
      />
      <ChoiceField {...inboundChoices.dmarc} value={inbound.dmarc} onChoose={(dmarc) => change({ dmarc })} />
      <ChoiceField {...inboundChoices.spam} value={inbound.spam} onChoose={(spam) => change({ spam })} />
      <ChoiceField {...inboundChoices.blocked} value={inbound.blocked} onChoose={(blocked) => change({ blocked })} />
      {sendPolicy !== undefined && (
        <ChoiceField {...sending} value={sendPolicy} onChoose={(sendPolicy) => change({ sendPolicy })} />
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
            onClick={() => void unlessBusy(() => work(() => inherit(inboxId), "The policy is inherited"))}
          >
            Use the policy of the account
          </button>
        )}
      </div>
    </form>
  );
}

function changesOf(changed: Changed, { inbound, sendPolicy }: Shown): Changed {
  const stored: Record<string, string | undefined> = { ...inbound, sendPolicy };
  return Object.fromEntries(Object.entries(changed).filter(([name, word]) => word !== stored[name]));
}

interface ChoiceFieldProps<Word> extends Choice<Word> {
  value: Word;
  onChoose(word: Word): void;
}

function ChoiceField<Word extends string>({ label, words, value, onChoose }: ChoiceFieldProps<Word>) {
  const id = useId();
  return (
    <>
      <label for={id}>{label}</label>
      <select
        id={id}
        value={value}
        onChange={({ currentTarget }) => {
          const chosen = words[currentTarget.selectedIndex];
          if (chosen !== undefined) onChoose(chosen[0]);
        }}
      >
        {words.map(([word, text]) => (
          <option key={word} value={word}>
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
