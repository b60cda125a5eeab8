/** A dark plate with the name of a tool, or with what a trigger listens to. */
import type { LucideIcon } from "lucide-react";
import { cx } from "./cx.ts";

export function Plate({
  icon: Icon,
  children,
  className,
}: {
  icon?: LucideIcon | undefined;
  children: string;
  className?: string | undefined;
}) {
  return (
    <span className={cx("id-plate", className)} title={children}>
      {Icon && <Icon className="icon" aria-hidden />}
      <span className="truncate">{children}</span>
    </span>
  );
}
