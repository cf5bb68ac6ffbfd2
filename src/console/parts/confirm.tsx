import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface ConfirmProps {
  title: string;
  children: ComponentChildren;
  /** The text of the button that confirms. */
  verb: string;
  onDone(isConfirmed: boolean): void;
}

/** Asks for confirmation. The button that cancels has the focus. */
export function Confirm({ title, children, verb, onDone }: ConfirmProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="confirm" aria-label={title} onCancel={() => onDone(false)}>
      <h2>{title}</h2>
      {children}
      <div class="actions">
        <button type="button" onClick={() => onDone(false)}>
          Keep
        </button>
        <button type="button" class="danger" onClick={() => onDone(true)}>
          {verb}
        </button>
      </div>
    </dialog>
  );
}
