/** A dialog with a list that can be searched, such as the node types or the nodes of the flow. */
import { Command } from "cmdk";
import { type ReactNode, useState } from "react";
import { Dialog } from "../ui/dialog.tsx";
import { rank } from "./rank.ts";

export interface PickEntry {
  key: string;
  label: string;
  icon: ReactNode;
  note?: string | undefined;
  group?: string | undefined;
  /** Additional texts that the search includes. */
  keywords?: readonly string[];
  onPick: () => void;
}

const findEntries = (entries: readonly PickEntry[], search: string): PickEntry[] =>
  rank(entries, search, ({ label, note = "", keywords = [] }) => [label, note, ...keywords]);

export function PickDialog({
  title,
  placeholder,
  hint,
  entries,
  empty,
  onClose,
}: {
  title: string;
  placeholder: string;
  hint?: string | undefined;
  entries: readonly PickEntry[];
  /** Shown if there are no entries, regardless of the search. */
  empty?: string;
  onClose: () => void;
}) {
  const [search, setSearch] = useState("");
  const [activeKey, setActiveKey] = useState(entries[0]?.key ?? "");
  const isSearching = search.trim() !== "";
  const matches = findEntries(entries, search);
  // The results of a search are sorted by relevance, so they have no groups.
  const groups = isSearching
    ? new Map([["", matches]])
    : Map.groupBy(matches, ({ group = "" }) => group);
  return (
    <Dialog open onClose={onClose} title={title} description={hint} className="w-[480px]">
      <Command
        label={title}
        loop
        shouldFilter={false}
        value={activeKey}
        onValueChange={setActiveKey}
      >
        <Command.Input
          className="input mb-2"
          placeholder={placeholder}
          autoFocus
          value={search}
          onValueChange={(text) => {
            setSearch(text);
            setActiveKey(findEntries(entries, text)[0]?.key ?? "");
          }}
        />
        <Command.List className="max-h-[46vh] overflow-y-auto">
          {matches.length === 0 && (
            <p className="wrap-anywhere px-2 py-6 text-center text-ink-3">
              {entries.length === 0 ? empty : `Nothing matches “${search.trim()}”.`}
            </p>
          )}
          {[...groups].map(([group, items]) => (
            <Command.Group
              key={group}
              {...(group && {
                heading: <span className="px-[9px] type-label text-ink-3">{group}</span>,
              })}
            >
              {items.map(({ key, label, icon, note, onPick }) => (
                <Command.Item
                  key={key}
                  value={key}
                  className="item"
                  onSelect={() => {
                    onClose();
                    onPick();
                  }}
                >
                  {icon}
                  <span className="min-w-0 flex-1">
                    <span className="block truncate">{label}</span>
                    {note && <span className="block truncate type-meta text-ink-3">{note}</span>}
                  </span>
                </Command.Item>
              ))}
            </Command.Group>
          ))}
        </Command.List>
      </Command>
    </Dialog>
  );
}
