/** New items of a live list wait here, so that no row moves under the pointer. */
import { ArrowUp } from "lucide-react";
import { plural } from "./format.ts";

/** The list is compared with the newest page only. */
const MAX_COUNTED = 100;

export function NewPill({
  added,
  one,
  onClick,
}: {
  added: number;
  /** What one item is called. */
  one: string;
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
      {added >= MAX_COUNTED ? `${MAX_COUNTED}+ new ${one}s` : plural(added, `new ${one}`)}
    </button>
  );
}
