/** Shown to a person without tenants: neither their account nor their organizations have installed the App. */

import type { Session } from "@signalbox/contract";
import { LogOut, PackagePlus, RotateCcw } from "lucide-react";
import { Button } from "../ui/button.tsx";
import { Logo } from "./logo.tsx";
import { githubSignInUrl, signOut } from "./session.ts";
import { usePageTitle } from "./use-page-title.ts";

export function NoTenantPage({ login, hub }: { login: string; hub: Session["hub"] }) {
  usePageTitle("No inbox yet");
  return (
    <main className="grid h-full place-items-center overflow-y-auto p-6">
      <div className="tile flex w-[440px] max-w-full flex-col gap-4 p-6 shadow-tile">
        <div className="flex items-center gap-3">
          <Logo size={32} />
          <h1 className="type-h1">No inbox yet</h1>
        </div>
        <div className="track" aria-hidden />
        <p className="text-ink-2">
          You are signed in as <b className="wrap-anywhere font-semibold text-ink">{login}</b>. You
          see the events of your own account, and of organizations of which you are a member, once
          they have installed the GitHub App of this hub.
        </p>
        <p className="text-ink-2">
          Access to a repository is not enough. Ask an owner of the organization to make you a
          member, or to install the App.
        </p>
        <div className="flex flex-wrap gap-2">
          {hub.install_url !== null && (
            <a className="btn primary" href={hub.install_url}>
              <PackagePlus className="icon" aria-hidden />
              Install the App
            </a>
          )}
          <a className="btn" href={githubSignInUrl("/inbox")}>
            <RotateCcw className="icon" aria-hidden />
            Check again
          </a>
          <Button look="ghost" icon={LogOut} onClick={() => void signOut()}>
            Sign out
          </Button>
        </div>
      </div>
    </main>
  );
}
