/** The event type: a list with descriptions if a server offers it, else text with the types seen so far. */
import { Pencil } from "lucide-react";
import { type ReactNode, useId, useRef, useState } from "react";
import type { OfferedTrigger, SourceKind } from "../api/types.ts";
import { useEventTypes } from "../inbox/use-event-types.ts";
import { usePanel } from "../panel/panel-context.ts";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/cx.ts";
import { Field, TextInput } from "../ui/field.tsx";
import { plural } from "../ui/format.ts";

/** Longer lists have a search field. */
const MANY = 8;

export function OfferedTypePicker({
  type,
  offered,
  onChange,
}: {
  type: string;
  offered: readonly OfferedTrigger[];
  onChange: (type: string | undefined) => void;
}) {
  const { problems } = usePanel();
  const name = useId();
  const [isOpen, setOpen] = useState(type === "");
  const [text, setText] = useState("");
  const change = useRef<HTMLButtonElement>(null);
  const chosen = offered.find((one) => one.type === type);
  const error = problems.get("type");
  if (!isOpen && chosen)
    return (
      <div className="flex flex-col gap-1">
        <span className="type-label text-ink-2">Event type</span>
        <div className="flex items-start gap-2 rounded-tile border border-line px-3 py-2">
          <OfferedType {...chosen} />
          <Button ref={change} size="small" icon={Pencil} onClick={() => setOpen(true)}>
            Change
          </Button>
        </div>
      </div>
    );
  const wanted = text.trim().toLowerCase();
  const shown = offered.filter(({ type, title = "", description }) =>
    `${type} ${title} ${description}`.toLowerCase().includes(wanted),
  );
  const choose = (next: string) => onChange(next === "" ? undefined : next);
  const close = () => {
    setOpen(false);
    setTimeout(() => change.current?.focus());
  };
  return (
    <fieldset
      className="flex min-w-0 flex-col gap-1"
      onKeyDown={({ key }) => {
        if (key === "Enter" && chosen) close();
      }}
    >
      <legend className="mb-1 type-label text-ink-2">Event type</legend>
      {offered.length > MANY && (
        <TextInput
          type="search"
          aria-label="Search event types"
          placeholder="Search"
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
      )}
      <div className="flex max-h-[260px] flex-col overflow-y-auto rounded-tile border border-line">
        {wanted === "" && (
          <Choice name={name} value="" isChosen={type === ""} onChoose={choose} onPick={choose}>
            <span className="min-w-0 flex-1">Any type</span>
          </Choice>
        )}
        {wanted === "" && type !== "" && !chosen && (
          <Choice name={name} value={type} isChosen onChoose={choose} onPick={choose}>
            <OfferedType type={type} description="The server does not offer this type." />
          </Choice>
        )}
        {shown.map((one) => (
          <Choice
            key={one.type}
            name={name}
            value={one.type}
            isChosen={one.type === type}
            onChoose={choose}
            onPick={(next) => {
              choose(next);
              close();
            }}
          >
            <OfferedType {...one} />
          </Choice>
        ))}
        {shown.length === 0 && <p className="px-3 py-2 text-ink-2">No event type has this text.</p>}
      </div>
      {error && (
        <p role="alert" className="wrap-anywhere type-meta text-red">
          {error}
        </p>
      )}
    </fieldset>
  );
}

function Choice({
  name,
  value,
  isChosen,
  onChoose,
  onPick,
  children,
}: {
  name: string;
  value: string;
  isChosen: boolean;
  /** By an arrow key: the list stays open. */
  onChoose: (value: string) => void;
  /** By the pointer. */
  onPick: (value: string) => void;
  children: ReactNode;
}) {
  return (
    <label
      className={cx(
        "flex cursor-pointer items-start gap-2 border-line px-3 py-2 not-last:border-b has-focus-visible:outline-2 has-focus-visible:outline-focus has-focus-visible:-outline-offset-2",
        isChosen ? "bg-blue-tint" : "hover:bg-hover",
      )}
      onPointerUp={({ button }) => button === 0 && onPick(value)}
    >
      <input
        type="radio"
        name={name}
        value={value}
        checked={isChosen}
        onChange={() => onChoose(value)}
        className="mt-[3px] flex-none accent-blue"
      />
      {children}
    </label>
  );
}

function OfferedType({
  type,
  title,
  description,
}: Pick<OfferedTrigger, "type" | "title" | "description">) {
  return (
    <span className="min-w-0 flex-1">
      <code className="wrap-anywhere block">{type}</code>
      <span className="wrap-anywhere line-clamp-3 type-meta text-ink-2">
        {[title, description].filter(Boolean).join(": ")}
      </span>
    </span>
  );
}

/** The type of a webhook, of a polled tool, or of what a server sends without describing it. */
export function TypedType({
  type,
  source,
  kind,
  hint,
  onChange,
}: {
  type: string;
  source: string;
  kind: SourceKind | undefined;
  hint?: string;
  onChange: (type: string | undefined) => void;
}) {
  const { problems } = usePanel();
  const list = useId();
  const seen = useEventTypes().filter((one) => one.source === source || one.source_id === source);
  const counts = new Map<string, number>();
  for (const one of seen) counts.set(one.type, (counts.get(one.type) ?? 0) + one.count);
  const samples = (kind?.sample_types ?? []).filter((one) => !counts.has(one));
  return (
    <Field
      label="Event type"
      hint={hint ?? "Blank: events of any type."}
      error={problems.get("type")}
    >
      {(control) => (
        <>
          <TextInput
            {...control}
            code
            list={list}
            placeholder="any type"
            value={type}
            onChange={({ target }) => onChange(target.value || undefined)}
          />
          <datalist id={list}>
            {[...counts].map(([one, count]) => (
              <option key={one} value={one} label={`${plural(count, "event")} received`} />
            ))}
            {samples.map((one) => (
              <option key={one} value={one} />
            ))}
          </datalist>
        </>
      )}
    </Field>
  );
}
