/** The pages of the navigation. */
import {
  Bot,
  Inbox,
  type LucideIcon,
  Plug,
  Settings2,
  TrainTrack,
  Webhook,
  Workflow,
} from "lucide-react";

export interface NavPage {
  path: string;
  name: string;
  icon: LucideIcon;
  /** The key that opens the page after `g`. */
  key: string;
  /** Only admins of the tenant can use it. */
  needsAdmin?: true;
}

export const NAV_PAGES = [
  { path: "/inbox", name: "Inbox", icon: Inbox, key: "i" },
  { path: "/flows", name: "Flows", icon: Workflow, key: "f", needsAdmin: true },
  { path: "/runs", name: "Runs", icon: TrainTrack, key: "r" },
  { path: "/connections", name: "Connections", icon: Plug, key: "c", needsAdmin: true },
  { path: "/sources", name: "Sources", icon: Webhook, key: "s", needsAdmin: true },
  { path: "/settings", name: "Settings", icon: Settings2, key: "t", needsAdmin: true },
] as const satisfies readonly NavPage[];

/** The pages that the navigation shows to an admin or a member. */
export const pagesFor = (isAdmin: boolean): readonly NavPage[] =>
  NAV_PAGES.filter((page: NavPage) => isAdmin || !page.needsAdmin);

export const CONNECT_PAGE: NavPage = {
  path: "/connect",
  name: "Connect an agent",
  icon: Bot,
  key: "a",
};
