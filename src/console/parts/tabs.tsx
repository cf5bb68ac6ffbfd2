interface TabsProps<Value> {
  label: string;
  choices: readonly (readonly [value: Value, text: string])[];
  chosen: Value;
  onChoose(value: Value): void;
}

/** Buttons in a row, of which one is pressed: they choose which part of a list is shown, or how a thing is shown. */
export function Tabs<Value>({ label, choices, chosen, onChoose }: TabsProps<Value>) {
  return (
    <fieldset class="tabs" aria-label={label}>
      {choices.map(([value, text]) => (
        <button key={text} type="button" aria-pressed={value === chosen} onClick={() => onChoose(value)}>
          {text}
        </button>
      ))}
    </fieldset>
  );
}
