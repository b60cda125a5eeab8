/** Search, filters and saved views of the inbox. */
import { Bookmark, Clock, Search, Send, Tag, Trash2, Webhook } from "lucide-react";
import { type RefObject, useEffect, useEffectEvent, useState } from "react";
import { Link, useLocation } from "wouter";
import { useIsAdmin } from "../app/session.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { TextInput } from "../ui/field.tsx";
import { Menu } from "../ui/menu.tsx";
import { Popover } from "../ui/popover.tsx";
import { Segments } from "../ui/segments.tsx";
import { toasts } from "../ui/toast.tsx";
import { type Filter, type Period, VIEWS, writeFilter } from "./filter.ts";
import { removeView, saveView, useSavedViews } from "./saved-views.ts";
import { useSendTest } from "./send-test.tsx";
import { useEventTypes } from "./use-event-types.ts";

const VIEW_NAMES: Record<Filter["view"], string> = {
  waiting: "Waiting",
  all: "All",
  failed: "Failed",
  unmatched: "Unmatched",
};
const PERIOD_NAMES: Record<Period, string> = {
  "1h": "Last hour",
  "24h": "Last 24 h",
  "7d": "Last 7 days",
};
/** The search starts this long after the last change of the text. */
const DEBOUNCE_MS = 250;

export function Toolbar({
  filter,
  searchField,
}: {
  filter: Filter;
  searchField: RefObject<HTMLInputElement | null>;
}) {
  const [, navigate] = useLocation();
  const sendTest = useSendTest();
  const isAdmin = useIsAdmin();
  const changeFilter = (change: Partial<Filter>) =>
    navigate(`/inbox${writeFilter({ ...filter, until: undefined, ...change })}`);
  return (
    <div className="flex flex-wrap items-center gap-2 border-line border-b px-5 py-[10px]">
      <SearchField
        text={filter.text}
        onSearch={(text) => changeFilter({ text })}
        field={searchField}
      />
      <Segments
        label="Events to show"
        value={filter.view}
        options={VIEWS.map((value) => ({ value, label: VIEW_NAMES[value] }))}
        onChange={(view) => changeFilter({ view })}
      />
      <SourceAndTypeMenus filter={filter} onChange={changeFilter} />
      <Menu
        label="Time"
        trigger={
          <Button icon={Clock}>{filter.period ? PERIOD_NAMES[filter.period] : "Any time"}</Button>
        }
        items={[
          {
            label: "Any time",
            checked: !filter.period,
            onSelect: () => changeFilter({ period: undefined }),
          },
          ...(Object.keys(PERIOD_NAMES) as Period[]).map((period) => ({
            label: PERIOD_NAMES[period],
            checked: filter.period === period,
            onSelect: () => changeFilter({ period }),
          })),
        ]}
      />
      <span className="flex-1" />
      <SavedViews search={writeFilter(filter)} />
      {isAdmin && (
        <Button icon={Send} onClick={sendTest}>
          Send test event
        </Button>
      )}
    </div>
  );
}

function SearchField({
  text = "",
  onSearch,
  field,
}: {
  text: string | undefined;
  onSearch: (text: string | undefined) => void;
  field: RefObject<HTMLInputElement | null>;
}) {
  const [typed, setTyped] = useState(text);
  // The text of the filter is trimmed. Spaces at the end of the field are kept: another word may follow.
  useEffect(() => setTyped((before) => (before.trim() === text ? before : text)), [text]);
  const search = useEffectEvent(() => onSearch(typed.trim() || undefined));
  const isChanged = typed.trim() !== text;
  // biome-ignore lint/correctness/useExhaustiveDependencies: every change of the text restarts the timer
  useEffect(() => {
    if (!isChanged) return;
    const timer = setTimeout(() => search(), DEBOUNCE_MS);
    return () => clearTimeout(timer);
  }, [typed, isChanged]);
  return (
    <label className="relative w-[300px] min-w-[180px] flex-initial">
      <span className="sr-only">Search events</span>
      <Search className="icon absolute top-2 left-[10px] text-ink-3" aria-hidden />
      <input
        ref={field}
        type="search"
        className="input pl-[34px]"
        placeholder="Search titles, repos, senders"
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") event.currentTarget.blur();
        }}
      />
    </label>
  );
}

function SourceAndTypeMenus({
  filter,
  onChange,
}: {
  filter: Filter;
  onChange: (change: Partial<Filter>) => void;
}) {
  const eventTypes = useEventTypes();
  const sources = [...new Set(eventTypes.map(({ source }) => source))].sort();
  const types = [
    ...new Set(
      eventTypes
        .filter(({ source }) => !filter.source || source === filter.source)
        .map(({ type }) => type),
    ),
  ].sort();
  const renderMenu = (
    name: string,
    icon: typeof Webhook,
    value: string | undefined,
    values: readonly string[],
    onSelect: (value: string | undefined) => void,
  ) => (
    <Menu
      label={name}
      trigger={
        <Button icon={icon} className="max-w-[200px]">
          <span className="truncate">{value ?? name}</span>
        </Button>
      }
      items={[
        {
          label: `Any ${name.toLowerCase()}`,
          checked: !value,
          onSelect: () => onSelect(undefined),
        },
        ...[...new Set([...(value ? [value] : []), ...values])].map((each) => ({
          label: each,
          checked: each === value,
          onSelect: () => onSelect(each),
        })),
      ]}
    />
  );
  return (
    <>
      {renderMenu("Source", Webhook, filter.source, sources, (source) =>
        onChange({ source, type: undefined }),
      )}
      {renderMenu("Type", Tag, filter.type, types, (type) => onChange({ type }))}
    </>
  );
}

function SavedViews({ search }: { search: string }) {
  const views = useSavedViews();
  const [isOpen, setOpen] = useState(false);
  const [name, setName] = useState("");
  return (
    <Popover
      label="Saved views"
      open={isOpen}
      onOpenChange={setOpen}
      trigger={
        <Button look="ghost" icon={Bookmark}>
          {views.length === 0 ? "Save view" : "Views"}
        </Button>
      }
    >
      {views.length > 0 && (
        <ul className="mb-3 flex flex-col gap-1">
          {views.map((view) => (
            <li key={view.name} className="flex items-center gap-1">
              <Link
                href={`/inbox${view.search}`}
                onClick={() => setOpen(false)}
                aria-current={view.search === search || undefined}
                className="item flex-1 truncate hover:bg-hover aria-[current]:font-semibold"
              >
                {view.name}
              </Link>
              <IconButton
                size="small"
                icon={Trash2}
                label={`Delete the view ${view.name}`}
                onClick={() => {
                  removeView(view.name);
                  toasts.add({
                    title: `The view “${view.name}” was deleted`,
                    undo: () => saveView(view),
                  });
                }}
              />
            </li>
          ))}
        </ul>
      )}
      <form
        className="flex gap-2"
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim() === "") return;
          saveView({ name: name.trim(), search });
          setName("");
          setOpen(false);
        }}
      >
        <TextInput
          aria-label="Name of the view"
          placeholder="Name this view"
          maxLength={60}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <Button type="submit" look="primary" disabled={name.trim() === ""}>
          Save
        </Button>
      </form>
    </Popover>
  );
}
