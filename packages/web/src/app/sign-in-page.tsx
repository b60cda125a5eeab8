/**
 * Sign-in with GitHub, if it is set up, or with the link that the hub prints. The page immediately
 * exchanges the code in the link for a session, and removes the code from the address bar.
 */
import { useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";
import { isOutage } from "../api/problem.ts";
import { chooseTenant } from "../api/tenant.ts";
import { CommandLine } from "../ui/command-line.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { SignalHead } from "../ui/signal-head.tsx";
import { Logo } from "./logo.tsx";
import { queryClient } from "./query-client.ts";
import { returnPathAt } from "./return-path.ts";
import { githubSignInUrl, sessionQuery, signIn, useSignInMethods } from "./session.ts";
import { usePageTitle } from "./use-page-title.ts";

/** The code in the fragment, which the browser does not send to any server. */
const readCode = () => new URLSearchParams(location.hash.slice(1)).get("code");

/** Paths of pages that the hub renders: they are not part of this app. */
const HUB_PAGES = /^\/oauth\//;
const CHECK_MS = 2_000;

/** The reasons why a sign-in with GitHub failed, by the code that the hub adds to the URL. */
const PROBLEMS: Record<string, string> = {
  stale:
    "The sign-in took too long, or was started in another browser or at another address of this hub. Try again here.",
  denied: "GitHub did not sign you in, because the request was denied.",
  rejected: "GitHub did not accept the sign-in. Try again.",
  unavailable:
    "GitHub does not respond as expected. Try again in a minute; the hub's log has the reason.",
};

export function SignInPage() {
  usePageTitle("Sign in");
  const [, navigate] = useLocation();
  const [returnTo] = useState(() => returnPathAt(location));
  const [hadCode] = useState(() => readCode() !== null);
  const { mutate, error, variables, isIdle, isError } = useMutation({
    mutationFn: signIn,
    onSuccess: async () => {
      await queryClient.resetQueries({ queryKey: sessionQuery.queryKey });
      if (!HUB_PAGES.test(returnTo)) navigate(returnTo, { replace: true });
    },
  });
  useEffect(() => {
    const exchangeCode = () => {
      const code = readCode();
      if (code === null) return;
      history.replaceState(null, "", `/sign-in${location.search}`);
      mutate(code);
    };
    exchangeCode();
    // A link that is pasted while this page is open changes only the fragment.
    window.addEventListener("hashchange", exchangeCode);
    return () => window.removeEventListener("hashchange", exchangeCode);
  }, [mutate]);
  // The session is polled, because the user may open the link in another tab.
  const { data: session } = useQuery({
    ...sessionQuery,
    refetchInterval: ({ state }) => !state.data && CHECK_MS,
  });
  const isRejected = isError && !isOutage(error);
  const wasSignedOut = useRef(false);
  useEffect(() => {
    if (session === null) wasSignedOut.current = true;
    if (!session) return;
    if (HUB_PAGES.test(returnTo)) location.replace(returnTo);
    // The code of a used link is rejected, but an existing session is still valid.
    else if (wasSignedOut.current || isRejected) navigate(returnTo, { replace: true });
  }, [session, isRejected, returnTo, navigate]);
  const isBusy = isIdle ? hadCode : !isError;
  const methods = useSignInMethods(!isBusy);
  const problem = PROBLEMS[new URLSearchParams(location.search).get("problem") ?? ""];
  return (
    <main className="grid h-full place-items-center overflow-y-auto p-6">
      <div className="tile flex w-[440px] max-w-full flex-col gap-4 p-6 shadow-tile">
        <div className="flex items-center gap-3">
          <Logo size={32} />
          <h1 className="type-h1">Signalbox</h1>
        </div>
        <div className={isBusy ? "track [--slot-color:var(--slot-route)]" : "track"} aria-hidden />
        {isBusy ? (
          <p role="status" className="flex items-center gap-3 text-ink-2">
            <SignalHead aspect="lunar" label="in progress" /> Signing in…
          </p>
        ) : (
          <>
            {error && (
              <ErrorState
                compact
                error={error}
                onRetry={
                  variables !== undefined && isOutage(error) ? () => mutate(variables) : undefined
                }
              />
            )}
            {!error && problem && (
              <p role="alert" className="text-red">
                {problem}
              </p>
            )}
            {methods.data?.github && (
              <>
                <a
                  className="btn primary"
                  href={githubSignInUrl(returnTo)}
                  onClick={() => chooseTenant(undefined)}
                >
                  Sign in with GitHub
                </a>
                <details>
                  <summary className="type-label cursor-pointer text-ink-2">
                    Sign in as the operator
                  </summary>
                  <div className="mt-3 flex flex-col gap-4">
                    <SignInLink />
                  </div>
                </details>
              </>
            )}
            {!methods.isPending && !methods.data?.github && <SignInLink />}
          </>
        )}
      </div>
    </main>
  );
}

const SignInLink = () => (
  <>
    <p className="text-ink-2">
      The hub prints a sign-in link when it starts. Each link works once, for ten minutes. Print a
      new one where the hub runs:
    </p>
    <CommandLine>npx signalbox open</CommandLine>
    <p className="text-ink-2">
      Open the link in this browser. This page then continues automatically.
    </p>
  </>
);
