/** A small label for code, or for text if `words` is true. `tone` is the colour of a state. */
import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { cx } from "./cx.ts";
import type { Aspect } from "./signal-head.tsx";

export interface ChipProps {
  tone?: Aspect | undefined;
  icon?: LucideIcon | undefined;
  words?: boolean;
  title?: string | undefined;
  className?: string | undefined;
  children: ReactNode;
}

export function Chip({ tone, icon: Icon, words = false, title, className, children }: ChipProps) {
  return (
    <span
      className={cx("chip", tone !== "none" && tone, words && "words", className)}
      title={title}
    >
      {Icon && <Icon className="icon" aria-hidden />}
      <span className="truncate">{children}</span>
    </span>
  );
}
