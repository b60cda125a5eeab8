/** A button that shows the new items of a live list. Until then, they are only counted, so that no row moves. */
import { ArrowUp } from "lucide-react";
import { plural } from "./format.ts";

/** Lists count new items only in the newest page, which has this many items. */
const MAX_COUNTED = 100;

export function NewPill({
  added,
  noun,
  onClick,
}: {
  added: number;
  /** The name of an item, in the singular. */
  noun: string;
  onClick: () => void;
}) {
  if (added === 0) return null;
  return (
    <button
      type="button"
      onClick={onClick}
      className="-translate-x-1/2 absolute top-[5px] left-1/2 z-10 inline-flex h-6 items-center gap-[6px] rounded-full bg-blue pr-3 pl-[9px] font-semibold text-[12px]/4 text-on-blue shadow-tile hover:bg-blue-hover"
    >
      <ArrowUp className="icon size-[13px]" aria-hidden />
      {added >= MAX_COUNTED ? `${MAX_COUNTED}+ new ${noun}s` : plural(added, `new ${noun}`)}
    </button>
  );
}
