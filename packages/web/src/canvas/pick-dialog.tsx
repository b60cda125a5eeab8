/** A list to search and choose from by keyboard: nodes of the library, of the flow, or to connect to. */
import { Command } from "cmdk";
import type { ReactNode } from "react";
import { Dialog } from "../ui/dialog.tsx";
import { scoreOf } from "./score.ts";

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

const fit = (_: string, search: string, texts: string[] = []) => scoreOf(search, texts);

export function PickDialog({
  title,
  placeholder,
  picks,
  empty,
  onClose,
}: {
  title: string;
  placeholder: string;
  picks: readonly Pick[];
  empty: string;
  onClose: () => void;
}) {
  const groups = Map.groupBy(picks, ({ group = "" }) => group);
  return (
    <Dialog open onClose={onClose} title={title} className="w-[480px]">
      <Command label={title} loop filter={fit}>
        <Command.Input className="input mb-2" placeholder={placeholder} autoFocus />
        <Command.List className="max-h-[46vh] overflow-y-auto">
          <Command.Empty className="px-2 py-6 text-center text-ink-3">{empty}</Command.Empty>
          {[...groups].map(([group, items]) => (
            <Command.Group
              key={group}
              {...(group && {
                heading: <span className="px-[9px] type-label text-ink-3">{group}</span>,
              })}
            >
              {items.map(({ key, label, icon, note, keywords, onPick }) => (
                <Command.Item
                  key={key}
                  value={key}
                  keywords={[label, note ?? "", ...(keywords ?? [])]}
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
