/** Shows why a trigger matched an event or not. A failed condition is amber, because it is not an error. */
import { Check, X } from "lucide-react";
import { cx } from "../ui/cx.ts";
import type { Line } from "./verdict.ts";

export function Reasons({ lines }: { lines: readonly Line[] }) {
  return (
    <ul className="flex flex-col gap-[3px] type-meta leading-[19px]">
      {lines.map(({ parts, holds }) => (
        <li
          key={parts.map(({ text }) => text).join("")}
          className="grid grid-cols-[16px_minmax(0,1fr)] gap-2"
        >
          {holds ? (
            <Check className="icon mt-[3px] size-[13px] text-green" aria-label="met" />
          ) : (
            <X className="icon mt-[3px] size-[13px] text-amber" aria-label="not met" />
          )}
          <span
            className={cx(
              "wrap-anywhere",
              !holds && "-mx-[6px] rounded-chip bg-amber-tint px-[6px] text-amber",
            )}
          >
            {parts.map(({ text, isCode }, index) =>
              isCode ? (
                // biome-ignore lint/suspicious/noArrayIndexKey: a value may occur twice
                <code key={index} className="type-code-s leading-[19px]">
                  {text}
                </code>
              ) : (
                text
              ),
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}
