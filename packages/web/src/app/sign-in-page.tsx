/** Sign-in by the link that the server prints: its code is used up at once and leaves the address. */
import { useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";
import { toProblem } from "../api/problem.ts";
import { CommandLine } from "../ui/command-line.tsx";
import { SignalHead } from "../ui/signal-head.tsx";
import { Logo } from "./logo.tsx";
import { queryClient } from "./query-client.ts";
import { sessionQuery, signIn } from "./session.ts";

/** The code in the fragment, which the browser does not send to any server. */
const readCode = () => new URLSearchParams(location.hash.slice(1)).get("code");

export function SignInPage() {
  const [, navigate] = useLocation();
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(() => readCode() !== null);
  const started = useRef(false);
  useEffect(() => {
    document.title = "Sign in · Signalbox";
    const code = readCode();
    if (code === null || started.current) return;
    started.current = true;
    history.replaceState(null, "", "/sign-in");
    signIn(code).then(
      async () => {
        await queryClient.resetQueries({ queryKey: sessionQuery.queryKey });
        navigate("/inbox", { replace: true });
      },
      (failure: unknown) => {
        setError(failure);
        setBusy(false);
      },
    );
  }, [navigate]);
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
            {error !== undefined && (
              <p role="alert" className="flex items-start gap-3 text-ink-2">
                <SignalHead aspect="red" label="error" />
                <span>
                  <b className="block text-ink">{toProblem(error).title}</b>
                  {toProblem(error).detail}
                </span>
              </p>
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
