/** Controls for the event type: a list of the types that a server offers, or a text field with suggestions. */

import type { OfferedTrigger, SourceKind } from "@signalbox/contract";
import { Pencil } from "lucide-react";
import { type ReactNode, useId, useRef, useState } from "react";
import { useEventTypes } from "../inbox/use-event-types.ts";
import { usePanel } from "../panel/panel-context.ts";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/cx.ts";
import { Field, TextInput } from "../ui/field.tsx";
import { plural } from "../ui/format.ts";

/** Longer lists have a search field. */
const MAX_WITHOUT_SEARCH = 8;

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
  const [searchText, setSearchText] = useState("");
  const changeButton = useRef<HTMLButtonElement>(null);
  const chosen = offered.find((each) => each.type === type);
  const error = problems.get("type");
  if (!isOpen && chosen)
    return (
      <div className="flex flex-col gap-1">
        <span className="type-label text-ink-2">Event type</span>
        <div className="flex items-start gap-2 rounded-tile border border-line px-3 py-2">
          <OfferedType {...chosen} />
          <Button ref={changeButton} size="small" icon={Pencil} onClick={() => setOpen(true)}>
            Change
          </Button>
        </div>
      </div>
    );
  const search = searchText.trim().toLowerCase();
  const matches = offered.filter(({ type, title = "", description }) =>
    `${type} ${title} ${description}`.toLowerCase().includes(search),
  );
  const choose = (next: string) => onChange(next === "" ? undefined : next);
  const close = () => {
    setOpen(false);
    // The button is rendered only after the list has closed.
    setTimeout(() => changeButton.current?.focus());
  };
  return (
    <fieldset
      className="flex min-w-0 flex-col gap-1"
      onKeyDown={({ key }) => {
        if (key === "Enter" && chosen) close();
      }}
    >
      <legend className="mb-1 type-label text-ink-2">Event type</legend>
      {offered.length > MAX_WITHOUT_SEARCH && (
        <TextInput
          type="search"
          aria-label="Search event types"
          placeholder="Search"
          value={searchText}
          onChange={({ target }) => setSearchText(target.value)}
        />
      )}
      <div className="flex max-h-[260px] flex-col overflow-y-auto rounded-tile border border-line">
        {search === "" && (
          <Choice name={name} value="" isChosen={type === ""} onChoose={choose} onPick={choose}>
            <span className="min-w-0 flex-1">Any type</span>
          </Choice>
        )}
        {search === "" && type !== "" && !chosen && (
          <Choice name={name} value={type} isChosen onChoose={choose} onPick={choose}>
            <OfferedType type={type} description="The server does not offer this type." />
          </Choice>
        )}
        {matches.map((each) => (
          <Choice
            key={each.type}
            name={name}
            value={each.type}
            isChosen={each.type === type}
            onChoose={choose}
            onPick={(next) => {
              choose(next);
              close();
            }}
          >
            <OfferedType {...each} />
          </Choice>
        ))}
        {matches.length === 0 && (
          <p className="px-3 py-2 text-ink-2">No event type matches the search.</p>
        )}
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
  /** Called for an arrow key, which leaves the list open. */
  onChoose: (value: string) => void;
  /** Called for a click. */
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

/** A text field for the type, if the source offers no list of types. It suggests known types. */
export function TypeField({
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
  const listId = useId();
  const receivedTypes = useEventTypes().filter(
    (each) => each.source === source || each.source_id === source,
  );
  const counts = new Map<string, number>();
  for (const each of receivedTypes)
    counts.set(each.type, (counts.get(each.type) ?? 0) + each.count);
  const samples = (kind?.sample_types ?? []).filter((each) => !counts.has(each));
  return (
    <Field
      label="Event type"
      hint={hint ?? "If blank, events of any type match."}
      error={problems.get("type")}
    >
      {(control) => (
        <>
          <TextInput
            {...control}
            code
            list={listId}
            placeholder="any type"
            value={type}
            onChange={({ target }) => onChange(target.value || undefined)}
          />
          <datalist id={listId}>
            {[...counts].map(([each, count]) => (
              <option key={each} value={each} label={`${plural(count, "event")} received`} />
            ))}
            {samples.map((each) => (
              <option key={each} value={each} />
            ))}
          </datalist>
        </>
      )}
    </Field>
  );
}
