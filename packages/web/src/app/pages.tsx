/** The pages of the navigation, and the routes. Every page is a lazy chunk. */
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
import { type ComponentType, type LazyExoticComponent, lazy } from "react";

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

type Lazy = LazyExoticComponent<ComponentType>;

/** Each path is a pattern of wouter. The first that matches is used. */
export const ROUTES: readonly { path: string; page: Lazy; needsAdmin?: true }[] = [
  { path: "/inbox/:event?", page: lazy(() => import("../inbox/inbox-page.tsx")) },
  { path: "/flows", page: lazy(() => import("../flows/flows-page.tsx")), needsAdmin: true },
  { path: "/flows/:flow", page: lazy(() => import("../canvas/canvas-page.tsx")), needsAdmin: true },
  { path: "/runs", page: lazy(() => import("../runs/runs-page.tsx")) },
  { path: "/runs/:run", page: lazy(() => import("../runs/run-page.tsx")) },
  {
    path: "/connections/authorized",
    page: lazy(() => import("../connections/authorized-page.tsx")),
    needsAdmin: true,
  },
  {
    path: "/connections/:connection?",
    page: lazy(() => import("../connections/connections-page.tsx")),
    needsAdmin: true,
  },
  { path: "/sources", page: lazy(() => import("../sources/sources-page.tsx")), needsAdmin: true },
  {
    path: "/settings/:section?",
    page: lazy(() => import("../settings/settings-page.tsx")),
    needsAdmin: true,
  },
  { path: "/connect", page: lazy(() => import("../connect/connect-page.tsx")) },
];
