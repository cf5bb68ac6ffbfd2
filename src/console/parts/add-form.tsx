import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { errorText } from "../api.ts";
import { notify } from "../frame/notice.tsx";
import { useBusy } from "./busy.ts";

interface AddFormProps {
  /** The id and the name of the field. */
  name: string;
  label: string;
  /** The text of the button. */
  verb: string;
  placeholder: string;
  inputMode?: "email";
  /** A text or a field after the field. */
  suffix?: ComponentChildren;
  /** Adds what was entered, and returns the text of the notice. */
  add(text: string, form: FormData): Promise<string>;
}

/** A form with one field that adds something to the list below it. */
export function AddForm({ name, label, verb, placeholder, inputMode, suffix, add }: AddFormProps) {
  const [fault, setFault] = useState<string | undefined>(undefined);
  const { isBusy, unlessBusy } = useBusy();

  async function submit(form: HTMLFormElement) {
    try {
      const entered = new FormData(form);
      notify(await add(String(entered.get(name) ?? "").trim(), entered));
      form.reset();
      setFault(undefined);
    } catch (error) {
      setFault(errorText(error));
    }
  }

  return (
    <form
      class="add-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        const form = event.currentTarget;
        void unlessBusy(() => submit(form));
      }}
    >
      <label for={name}>{label}</label>
      <div class="joined">
        <input
          id={name}
          name={name}
          inputMode={inputMode}
          autocapitalize="none"
          autocomplete="off"
          spellcheck={false}
          placeholder={placeholder}
          aria-invalid={fault !== undefined}
          aria-describedby={`${name}-fault`}
        />
        {suffix !== undefined && <span class="joined-end">{suffix}</span>}
      </div>
      <button type="submit" disabled={isBusy}>
        {verb}
      </button>
      <p id={`${name}-fault`} class="field-fault" role="alert">
        {fault}
      </p>
    </form>
  );
}
