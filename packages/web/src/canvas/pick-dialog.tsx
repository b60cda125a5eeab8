/** A list to search and choose from by keyboard: nodes of the library, of the flow, or to connect to. */
import { Command } from "cmdk";
import { type ReactNode, useState } from "react";
import { Dialog } from "../ui/dialog.tsx";
import { rank } from "./rank.ts";

export interface Pick {
  key: string;
  label: string;
  icon: ReactNode;
  note?: string | undefined;
  group?: string | undefined;
  /** More text that the search finds. */
  keywords?: readonly string[];
  onPick: () => void;
}

const find = (picks: readonly Pick[], search: string): Pick[] =>
  rank(picks, search, ({ label, note = "", keywords = [] }) => [label, note, ...keywords]);

export function PickDialog({
  title,
  placeholder,
  hint,
  picks,
  empty,
  onClose,
}: {
  title: string;
  placeholder: string;
  hint?: string | undefined;
  picks: readonly Pick[];
  /** Shown if there is nothing to choose from, whatever is searched. */
  empty?: string;
  onClose: () => void;
}) {
  const [search, setSearch] = useState("");
  const [chosen, setChosen] = useState(picks[0]?.key ?? "");
  const isSearched = search.trim() !== "";
  const found = find(picks, search);
  // What was found is in the order of how well it fits, across the groups.
  const groups = isSearched
    ? new Map([["", found]])
    : Map.groupBy(found, ({ group = "" }) => group);
  return (
    <Dialog open onClose={onClose} title={title} description={hint} className="w-[480px]">
      <Command label={title} loop shouldFilter={false} value={chosen} onValueChange={setChosen}>
        <Command.Input
          className="input mb-2"
          placeholder={placeholder}
          autoFocus
          value={search}
          onValueChange={(text) => {
            setSearch(text);
            setChosen(find(picks, text)[0]?.key ?? "");
          }}
        />
        <Command.List className="max-h-[46vh] overflow-y-auto">
          {found.length === 0 && (
            <p className="wrap-anywhere px-2 py-6 text-center text-ink-3">
              {picks.length === 0 ? empty : `Nothing matches “${search.trim()}”.`}
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
