/** The frame of every page: navigation, palette, live state. */

import type { Session } from "@signalbox/contract";
import { LogOut, Monitor, Moon, Search, Sun, User, Users } from "lucide-react";
import { lazy, type ReactNode, Suspense, useState } from "react";
import { Link, useLocation } from "wouter";
import { chooseTenant, chosenTenant } from "../api/tenant.ts";
import { SendTestProvider } from "../inbox/send-test.tsx";
import { Avatar } from "../ui/avatar.tsx";
import { Kbd } from "../ui/kbd.tsx";
import { Menu } from "../ui/menu.tsx";
import { useCounts } from "./counts.ts";
import { HubState } from "./hub-state.tsx";
import { Logo } from "./logo.tsx";
import { CONNECT_PAGE, type NavPage, pagesFor } from "./pages.tsx";
import { type Role, roleIn } from "./role.ts";
import { signOut } from "./session.ts";
import { setTheme, type ThemeChoice, useThemeChoice } from "./theme.ts";
import { useGlobalKeys } from "./use-global-keys.ts";

const Palette = lazy(() => import("./palette.tsx"));
const KeysDialog = lazy(() => import("./keys-dialog.tsx"));

export function Shell({ session, children }: { session: Session; children: ReactNode }) {
  const [dialog, setDialog] = useState<"palette" | "keys">();
  const [, navigate] = useLocation();
  const counts = useCounts();
  const role = roleIn(session, chosenTenant());
  useGlobalKeys({
    onPalette: () => setDialog("palette"),
    onHelp: () => setDialog("keys"),
    onGo: navigate,
  });
  return (
    <SendTestProvider>
      <div className="grid h-full grid-cols-[204px_minmax(0,1fr)] max-[900px]:grid-cols-[60px_minmax(0,1fr)]">
        <a
          href="#main"
          className="btn primary sr-only z-50 focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
        >
          Skip to main content
        </a>
        <nav className="nav" aria-label="Main">
          <Link
            href="/inbox"
            className="mb-[14px] flex items-center gap-[10px] rounded-tile px-[10px] font-[680] text-[15.5px]/5 tracking-[-.01em]"
          >
            <Logo />
            <span className="max-[900px]:sr-only">Signalbox</span>
          </Link>
          {pagesFor(role === "admin").map((page) => (
            <NavLink key={page.path} page={page} count={counts[page.path]} />
          ))}
          <span className="flex-1" />
          <button type="button" className="nav-item" onClick={() => setDialog("palette")}>
            <Search className="icon" aria-hidden />
            <span className="max-[900px]:sr-only">Go to…</span>
            <span className="n max-[900px]:hidden">
              <Kbd>mod+K</Kbd>
            </span>
          </button>
          <NavLink page={CONNECT_PAGE} />
          <HubState session={session}>
            <AccountMenu session={session} role={role} />
          </HubState>
        </nav>
        <main
          id="main"
          tabIndex={-1}
          className="relative flex min-w-0 flex-col overflow-hidden outline-none"
        >
          {children}
        </main>
        <Suspense>
          {dialog === "palette" && <Palette onClose={() => setDialog(undefined)} />}
          {dialog === "keys" && <KeysDialog onClose={() => setDialog(undefined)} />}
        </Suspense>
      </div>
    </SendTestProvider>
  );
}

function NavLink({ page, count }: { page: NavPage; count?: string | undefined }) {
  const [location] = useLocation();
  const isCurrent = location === page.path || location.startsWith(`${page.path}/`);
  return (
    <Link
      href={page.path}
      className="nav-item"
      aria-current={isCurrent ? "page" : undefined}
      title={page.name}
    >
      <page.icon className="icon" aria-hidden />
      <span className="max-[900px]:sr-only">{page.name}</span>
      {count && <span className="n max-[900px]:hidden">{count}</span>}
    </Link>
  );
}

const THEMES = [
  ["system", "Same as the system", Monitor],
  ["light", "Light", Sun],
  ["dark", "Dark", Moon],
] as const;

function AccountMenu({ session, role }: { session: Session; role: Role }) {
  const { person, tenants } = session;
  const choice = useThemeChoice();
  const Icon = THEMES.find(([theme]) => theme === choice)?.[2] ?? Monitor;
  const switchTenant = () => {
    chooseTenant(undefined);
    location.assign("/inbox");
  };
  return (
    <Menu
      label="Theme and session"
      align="end"
      trigger={
        <button type="button" className="btn ghost square small" aria-label="Theme and session">
          {person ? (
            <Avatar login={person.login} url={person.avatar_url} />
          ) : (
            <Icon className="icon" aria-hidden />
          )}
        </button>
      }
      items={[
        ...(person
          ? [
              { label: person.login, note: role, icon: User, disabled: true, onSelect() {} },
              "-" as const,
            ]
          : []),
        ...THEMES.map(([theme, label, icon]) => ({
          label,
          icon,
          checked: choice === theme,
          onSelect: () => setTheme(theme satisfies ThemeChoice),
        })),
        "-",
        ...(tenants.length === 1
          ? []
          : [{ label: "Switch tenant", icon: Users, onSelect: switchTenant }]),
        { label: "Sign out", icon: LogOut, onSelect: () => void signOut() },
      ]}
    />
  );
}
