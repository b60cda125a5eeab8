/**
 * OAuth tokens of a user, saved in a file that all bridges of the user share. The hub rotates refresh
 * tokens, so the bridges refresh under a lock: the next holder finds the new tokens in the file.
 */
import { OAuthError, OAuthErrorCode, refreshAuthorization } from "@modelcontextprotocol/client";
import type { Access } from "./access.ts";
import { withFileLock } from "./file-lock.ts";
import { causeOf, HubError } from "./hub-error.ts";
import { type BeginSignIn, savedTokens } from "./sign-in.ts";
import type { SavedTokens, TokenFile } from "./token-file.ts";

export interface SignedInAccessOptions {
  url: string;
  file: TokenFile;
  fetch: typeof fetch;
  beginSignIn: BeginSignIn;
  warn: (message: string) => void;
  now?: () => number;
}

/** Longer than the time limit of a refresh. */
const STALE_LOCK_MS = 30_000;
const REFRESH_TIMEOUT_MS = 10_000;

/** The hub no longer accepts the refresh token or the client. Other errors may be temporary. */
const PERMANENT_ERRORS: ReadonlySet<string> = new Set([
  OAuthErrorCode.InvalidGrant,
  OAuthErrorCode.InvalidClient,
  OAuthErrorCode.UnauthorizedClient,
]);

export function createSignedInAccess(options: SignedInAccessOptions): Access {
  const { url, file, fetch, beginSignIn, warn, now = Date.now } = options;
  /** What the user must do, while a sign-in is pending. */
  let pending: string | undefined;
  let beginning: Promise<void> | undefined;

  const isDue = ({ refreshAt }: SavedTokens) => refreshAt !== null && now() >= refreshAt;

  /** The tokens after a refresh; undefined if the user must sign in again. */
  const refresh = (rejected: string | undefined): Promise<SavedTokens | undefined> =>
    withFileLock(`${file.path}.lock`, { staleMs: STALE_LOCK_MS }, async () => {
      const saved = file.read();
      if (!saved || (saved.access !== rejected && !isDue(saved))) return saved;
      if (saved.refresh === undefined) return undefined;
      try {
        const tokens = await refreshAuthorization(saved.authorizationServer, {
          metadata: saved.metadata,
          clientInformation: saved.client,
          refreshToken: saved.refresh,
          resource: saved.resource,
          fetchFn: (input, init) =>
            fetch(input, { ...init, signal: AbortSignal.timeout(REFRESH_TIMEOUT_MS) }),
        });
        const next = savedTokens(saved, tokens, now());
        file.write(next);
        return next;
      } catch (error) {
        if (!(error instanceof OAuthError && PERMANENT_ERRORS.has(error.code)))
          throw new HubError(
            "unreachable",
            `The hub at ${url} cannot renew the sign-in now (${causeOf(error)}). Try again later.`,
            { cause: error },
          );
        file.remove();
        return undefined;
      }
    });

  /** Begins one sign-in; `pending` is set when the user can act. */
  function signIn(): Promise<void> {
    beginning ??= (async () => {
      try {
        const { instruction, done } = await beginSignIn();
        pending = `${instruction} Then try again. Or set SIGNALBOX_TOKEN.`;
        warn(pending);
        void done
          .then((tokens) => {
            file.write(tokens);
            warn(`signed in to the hub at ${url}.`);
          })
          .catch((error: unknown) => warn(`the sign-in failed: ${causeOf(error)}`))
          .finally(() => {
            pending = undefined;
            beginning = undefined;
          });
      } catch (error) {
        beginning = undefined;
        pending = undefined;
        throw error;
      }
    })();
    return beginning;
  }

  return {
    async token() {
      const saved = file.read();
      if (!saved || !isDue(saved)) return saved?.access;
      return (await refresh(undefined))?.access;
    },
    async renew(token) {
      if (await refresh(token)) return true;
      await signIn().catch((error: unknown) => warn(`cannot begin the sign-in: ${causeOf(error)}`));
      return false;
    },
    advice: () =>
      pending ??
      `The hub at ${url} requires a sign-in. Run \`npx signalbox bridge sign-in\` in a terminal, or set SIGNALBOX_TOKEN to a token of this hub.`,
    isPending: () => pending !== undefined,
  };
}
