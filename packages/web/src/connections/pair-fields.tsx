/** Names with secret values, such as headers. Stored ones are known by name, and can be replaced. */
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
  /** What one of them is. */
  noun: string;
  hint: string;
  stored: readonly string[];
  /** Undefined: those that are stored stay. */
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
          {pairs.map(([name, value], nth) => (
            <div
              // biome-ignore lint/suspicious/noArrayIndexKey: the name is what is being edited
              key={nth}
              className="flex items-center gap-2"
            >
              <TextInput
                code
                className="max-w-[180px]"
                aria-label={`Name of ${noun} ${nth + 1}`}
                value={name}
                onChange={({ target }) => onChange(pairs.with(nth, [target.value, value]))}
              />
              <TextInput
                code
                type="password"
                aria-label={`Value of ${name || `${noun} ${nth + 1}`}`}
                value={value}
                onChange={({ target }) => onChange(pairs.with(nth, [name, target.value]))}
              />
              <IconButton
                size="small"
                icon={Trash2}
                label={`Remove ${name || `${noun} ${nth + 1}`}`}
                onClick={() => onChange(pairs.toSpliced(nth, 1))}
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
