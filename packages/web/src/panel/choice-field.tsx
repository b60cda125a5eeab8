/** A select field. A value that is not among the options, such as a template, stays selected. */
import { Field, SelectInput } from "../ui/field.tsx";

export interface Option {
  value: string;
  label: string;
}

export function ChoiceField({
  label,
  hint,
  error,
  required = true,
  value,
  options,
  onChange,
}: {
  label: string;
  hint?: string | undefined;
  error?: string | undefined;
  required?: boolean;
  value: string;
  options: readonly Option[];
  onChange: (value: string) => void;
}) {
  const isKnown = options.some((option) => option.value === value);
  return (
    <Field label={label} hint={hint} error={error} required={required}>
      {(control) => (
        <SelectInput {...control} value={value} onChange={({ target }) => onChange(target.value)}>
          {!isKnown && <option value={value}>{value || "Choose"}</option>}
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </SelectInput>
      )}
    </Field>
  );
}
