/** Sign-in by the link that the server prints: its code is used up at once and leaves the address. */
import { useMutation } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useLocation } from "wouter";
import { isOutage } from "../api/problem.ts";
import { CommandLine } from "../ui/command-line.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { SignalHead } from "../ui/signal-head.tsx";
import { Logo } from "./logo.tsx";
import { queryClient } from "./query-client.ts";
import { sessionQuery, signIn } from "./session.ts";
import { usePageTitle } from "./use-page-title.ts";

/** The code in the fragment, which the browser does not send to any server. */
const readCode = () => new URLSearchParams(location.hash.slice(1)).get("code");

export function SignInPage() {
  usePageTitle("Sign in");
  const [, navigate] = useLocation();
  const [hadCode] = useState(() => readCode() !== null);
  const { mutate, error, variables, isIdle, isError } = useMutation({
    mutationFn: signIn,
    onSuccess: async () => {
      await queryClient.resetQueries({ queryKey: sessionQuery.queryKey });
      navigate("/inbox", { replace: true });
    },
  });
  useEffect(() => {
    const start = () => {
      const code = readCode();
      if (code === null) return;
      history.replaceState(null, "", "/sign-in");
      mutate(code);
    };
    start();
    // A link that is pasted while this page is open changes only the fragment.
    window.addEventListener("hashchange", start);
    return () => window.removeEventListener("hashchange", start);
  }, [mutate]);
  const isBusy = isIdle ? hadCode : !isError;
  return (
    <main className="grid h-full place-items-center overflow-y-auto p-6">
      <div className="tile flex w-[440px] max-w-full flex-col gap-4 p-6 shadow-tile">
        <div className="flex items-center gap-3">
          <Logo size={32} />
          <h1 className="type-h1">Signalbox</h1>
        </div>
        <div className={isBusy ? "track [--c:var(--slot-route)]" : "track"} aria-hidden />
        {isBusy ? (
          <p role="status" className="flex items-center gap-3 text-ink-2">
            <SignalHead aspect="lunar" label="under way" /> Signing in…
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
            <p className="text-ink-2">
              The hub prints a sign-in link when it starts. Each link works once, for ten minutes.
              Print a new one where the hub runs:
            </p>
            <CommandLine>npx signalbox open</CommandLine>
          </>
        )}
      </div>
    </main>
  );
}
