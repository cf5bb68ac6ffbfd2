import { useState } from "preact/hooks";
import type { Faults } from "./faults.ts";

interface RecipientFieldsProps {
  to: string;
  cc: string;
  bcc: string;
  /** Whether the mail is a reply to all. The service then chooses the recipients. */
  toAll: boolean;
  isReadOnly: boolean;
  faults: Faults;
  setTo(text: string): void;
  setCc(text: string): void;
  setBcc(text: string): void;
}

export function RecipientFields({
  to,
  cc,
  bcc,
  toAll,
  isReadOnly,
  faults,
  setTo,
  setCc,
  setBcc,
}: RecipientFieldsProps) {
  const [isWide, setIsWide] = useState(cc !== "" || bcc !== "");
  return (
    <>
      <div class="line">
        <label for="to">To</label>
        {toAll ? (
          <output id="to">everyone in the conversation</output>
        ) : (
          <AddressField
            id="to"
            value={to}
            onChange={setTo}
            isReadOnly={isReadOnly}
            fault={faults.to}
            placeholder="jane@example.com, joe@example.com"
          />
        )}
        {!isWide && (
          <button type="button" class="quiet small" onClick={() => setIsWide(true)}>
            Cc, Bcc
          </button>
        )}
      </div>
      <FieldFault id="to" text={faults.to} />
      {isWide && (
        <>
          <div class="line">
            <label for="cc">Cc</label>
            <AddressField id="cc" value={cc} onChange={setCc} isReadOnly={isReadOnly} fault={faults.cc} />
          </div>
          <FieldFault id="cc" text={faults.cc} />
          <div class="line">
            <label for="bcc">Bcc</label>
            <AddressField id="bcc" value={bcc} onChange={setBcc} isReadOnly={isReadOnly} fault={faults.bcc} />
          </div>
          <FieldFault id="bcc" text={faults.bcc} />
        </>
      )}
    </>
  );
}

interface AddressFieldProps {
  id: string;
  value: string;
  placeholder?: string;
  isReadOnly: boolean;
  fault: string | undefined;
  onChange(text: string): void;
}

function AddressField({ id, value, placeholder = "", isReadOnly, fault, onChange }: AddressFieldProps) {
  return (
    <input
      id={id}
      value={value}
      placeholder={placeholder}
      readOnly={isReadOnly}
      inputMode="email"
      autocapitalize="none"
      autocomplete="off"
      spellcheck={false}
      aria-invalid={fault !== undefined}
      aria-describedby={`${id}-fault`}
      onInput={(event) => onChange(event.currentTarget.value)}
    />
  );
}

/** The fault of a field, below it. */
export function FieldFault({ id, text }: { id: string; text: string | undefined }) {
  return (
    <p id={`${id}-fault`} class="field-fault" role="alert">
      {text}
    </p>
  );
}
