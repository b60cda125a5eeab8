import {
  ArrowRightLeft,
  Bot,
  CalendarClock,
  CircleHelp,
  Code,
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

const ICONS: Readonly<Record<string, LucideIcon>> = {
  UserIntent: MessageSquare,
  Event: Zap,
  Schedule: CalendarClock,
  HttpRequest: Globe,
  CallTool: Wrench,
  Agent: Bot,
  CallFlow: Workflow,
  EmitEvent: Radio,
  Wait: Hourglass,
  Condition: GitBranch,
  Switch: Split,
  ForEach: Repeat,
  Merge: Merge,
  Transform: Shuffle,
  Code: Code,
  Return: CornerDownLeft,
  Notify: ArrowRightLeft,
};

export function NodeIcon({ type }: { type: string }) {
  const Icon = ICONS[type] ?? CircleHelp;
  return (
    <span className={cx("node-icon", registry.get(type)?.kind ?? "data")}>
      <Icon className="icon" aria-hidden />
    </span>
  );
}

export const iconOf = (type: string): LucideIcon => ICONS[type] ?? CircleHelp;
