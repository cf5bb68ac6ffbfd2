import { useState } from "preact/hooks";

interface RecipientFieldsProps {
  to: string;
  cc: string;
  bcc: string;
  /** Whether the mail is a reply to all. The service then chooses the recipients. */
  toAll: boolean;
  isReadOnly: boolean;
  setTo(text: string): void;
  setCc(text: string): void;
  setBcc(text: string): void;
}

export function RecipientFields({ to, cc, bcc, toAll, isReadOnly, setTo, setCc, setBcc }: RecipientFieldsProps) {
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
            placeholder="jane@example.com, joe@example.com"
          />
        )}
        {!isWide && (
          <button type="button" class="quiet small" onClick={() => setIsWide(true)}>
            Cc, Bcc
          </button>
        )}
      </div>
      {isWide && (
        <>
          <div class="line">
            <label for="cc">Cc</label>
            <AddressField id="cc" value={cc} onChange={setCc} isReadOnly={isReadOnly} />
          </div>
          <div class="line">
            <label for="bcc">Bcc</label>
            <AddressField id="bcc" value={bcc} onChange={setBcc} isReadOnly={isReadOnly} />
          </div>
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
  onChange(text: string): void;
}

function AddressField({ id, value, placeholder = "", isReadOnly, onChange }: AddressFieldProps) {
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
      onInput={(event) => onChange(event.currentTarget.value)}
    />
  );
}
