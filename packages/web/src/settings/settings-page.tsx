/** The page of settings: tokens, connected apps, secrets of flows, storage, and the settings in force. */
import { useLocation, useParams } from "wouter";
import { useSession } from "../app/session.ts";
import { usePageTitle } from "../app/use-page-title.ts";
import { Tabs } from "../ui/tabs.tsx";
import { ConnectedApps } from "./connected-apps.tsx";
import { Secrets } from "./secrets.tsx";
import { SettingsInForce } from "./settings-in-force.tsx";
import { Storage } from "./storage.tsx";
import { Tokens } from "./tokens.tsx";

const SECTIONS = [
  { value: "tokens", label: "Tokens", content: <Tokens /> },
  { value: "apps", label: "Connected apps", content: <ConnectedApps /> },
  { value: "secrets", label: "Secrets of flows", content: <Secrets /> },
  { value: "storage", label: "Storage", content: <Storage /> },
  { value: "settings", label: "Settings in force", content: <SettingsInForce /> },
];

export default function SettingsPage() {
  usePageTitle("Settings");
  const { section } = useParams<{ section?: string }>();
  const [, navigate] = useLocation();
  const { data: session } = useSession();
  // Only operators may read the settings of the hub. People who sign in with GitHub are not operators.
  const sections = SECTIONS.filter(({ value }) => value !== "settings" || !session?.person);
  const value = sections.some((candidate) => candidate.value === section)
    ? (section as string)
    : "tokens";
  return (
    <div className="flex h-full min-h-0 flex-col">
      <header className="flex-none px-5 pt-[14px] pb-2">
        <h1 className="type-h1">Settings</h1>
      </header>
      <Tabs
        label="Sections"
        className="px-5"
        value={value}
        onChange={(next) => navigate(`/settings/${next}`, { replace: true })}
        tabs={sections.map(({ content, ...tab }) => ({
          ...tab,
          content: <div className="mx-auto max-w-[1080px] px-5 py-6">{content}</div>,
        }))}
      />
    </div>
  );
}
