/** Fields for names with secret values, such as headers. Stored values are never shown, but can be replaced. */
import { Plus, Trash2 } from "lucide-react";
import { Button, IconButton } from "../ui/button.tsx";
import { TextInput } from "../ui/field.tsx";
import { type Pair, pairsProblem } from "./connection-form.ts";

export function PairFields({
  label,
  noun,
  hint,
  stored,
  pairs,
  onChange,
}: {
  label: string;
  /** The noun for one pair, such as `header`. */
  noun: string;
  hint: string;
  /** The names of the stored values. */
  stored: readonly string[];
  /** Undefined keeps the stored values. */
  pairs: readonly Pair[] | undefined;
  onChange: (pairs: readonly Pair[]) => void;
}) {
  const problem = pairsProblem(pairs, stored);
  return (
    <fieldset className="flex min-w-0 flex-col gap-2">
      <legend className="type-label text-ink-2">{label}</legend>
      <p className="type-meta text-ink-3">{hint}</p>
      {pairs === undefined ? (
        <p className="flex items-center gap-2">
          <span className="wrap-anywhere min-w-0 flex-1 type-meta">
            Stored: <code>{stored.join(", ")}</code>
          </span>
          <Button size="small" onClick={() => onChange(stored.map((name) => [name, ""]))}>
            Replace
          </Button>
        </p>
      ) : (
        <>
          {pairs.map(([name, value], index) => (
            <div
              // biome-ignore lint/suspicious/noArrayIndexKey: the user edits the name, so it cannot be the key
              key={index}
              className="flex items-center gap-2"
            >
              <TextInput
                code
                className="max-w-[180px]"
                aria-label={`Name of ${noun} ${index + 1}`}
                value={name}
                onChange={({ target }) => onChange(pairs.with(index, [target.value, value]))}
              />
              <TextInput
                code
                type="password"
                aria-label={`Value of ${name || `${noun} ${index + 1}`}`}
                value={value}
                onChange={({ target }) => onChange(pairs.with(index, [name, target.value]))}
              />
              <IconButton
                size="small"
                icon={Trash2}
                label={`Remove ${name || `${noun} ${index + 1}`}`}
                onClick={() => onChange(pairs.toSpliced(index, 1))}
              />
            </div>
          ))}
          <Button
            size="small"
            icon={Plus}
            className="self-start"
            disabled={pairs.some(([name]) => name === "")}
            onClick={() => onChange([...pairs, ["", ""]])}
          >
            Add a {noun}
          </Button>
          {problem && (
            <p role="alert" className="wrap-anywhere type-meta text-red">
              {problem}
            </p>
          )}
        </>
      )}
    </fieldset>
  );
}
