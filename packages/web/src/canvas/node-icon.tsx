import {
  Bot,
  Braces,
  CalendarClock,
  CircleHelp,
  CornerDownLeft,
  GitBranch,
  Globe,
  Hourglass,
  type LucideIcon,
  Merge,
  MessageSquare,
  Radio,
  Repeat,
  Shuffle,
  Split,
  Workflow,
  Wrench,
  Zap,
} from "lucide-react";
import { cx } from "../ui/cx.ts";
import { registry } from "./node-kinds.ts";

/** The icons by name. The definition of a node type contains the name of its icon. */
const ICONS: Readonly<Record<string, LucideIcon>> = {
  Bot,
  Braces,
  CalendarClock,
  CornerDownLeft,
  GitBranch,
  Globe,
  Hourglass,
  Merge,
  MessageSquare,
  Radio,
  Repeat,
  Shuffle,
  Split,
  Workflow,
  Wrench,
  Zap,
};

export const UNKNOWN_ICON = CircleHelp;

export const iconOf = (type: string): LucideIcon =>
  ICONS[registry.get(type)?.icon ?? ""] ?? UNKNOWN_ICON;

export function NodeIcon({ type }: { type: string }) {
  const Icon = iconOf(type);
  return (
    <span className={cx("node-icon", registry.get(type)?.kind ?? "data")}>
      <Icon className="icon" aria-hidden />
    </span>
  );
}
