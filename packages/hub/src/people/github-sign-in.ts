/**
 * Sign-in with GitHub: `/auth/github` redirects the browser to GitHub, which redirects it to
 * `/oauth/callback`. This route ends the browser's former session, creates a session of the person, and
 * opens the page on which the sign-in began.
 */
import { signInApi } from "@signalbox/contract/session.ts";
import type { Hono } from "hono";
import { baseUrl } from "../kernel/access/authorize-request.ts";
import { createCookie, createSessionCookie } from "../kernel/http/cookie.ts";
import type { HostCheck } from "../kernel/http/host-check.ts";
import {
  createNonce,
  escapeHtml,
  pageHeaders,
  reopenPage,
  STATIC_POLICY,
} from "../kernel/http/html-page.ts";
import { deniedResponse } from "../kernel/http/problem-response.ts";
import type { Log } from "../kernel/lib/log.ts";
import type { Seal } from "../kernel/lib/seal.ts";
import type { WebSessions } from "../tokens/web-sessions.ts";
import type { GithubUsers } from "./github-users.ts";
import { beginSignIn, PENDING_MS, resumeSignIn } from "./pending-sign-in.ts";
import type { People } from "./people.ts";
import { returnPath } from "./return-path.ts";

const PATH = "/auth/github";
/** The same path as in the earlier Worker, so that its GitHub App needs no change. */
const CALLBACK = "/oauth/callback";
/** The query parameter that marks a page which has reopened itself, so that it does so only once. */
const REOPENED = "reopened";

export interface GithubSignIn {
  /** Undefined if people cannot sign in with GitHub. */
  github: GithubUsers | undefined;
  people: People | undefined;
  sessions: Pick<WebSessions, "openFor" | "end">;
  seal: Seal;
  checkHost: HostCheck;
  publicUrl: string | undefined;
  now: () => number;
  log: Pick<Log, "warn">;
}

/** Why a sign-in failed. The page `/sign-in` has a text for each code, so that it shows no text of the URL. */
type SignInProblem = "stale" | "denied" | "rejected" | "unavailable";

export function addGithubSignIn(app: Hono, options: GithubSignIn): void {
  const { github, people, sessions, seal, checkHost, publicUrl, now, log } = options;
  app.get(signInApi.methods.path, (c) => {
    const denied = checkHost(c.req.header("host") ?? "", c.req.header("origin"));
    return denied ? deniedResponse(denied) : c.json({ github: github !== undefined });
  });
  if (!github || !people) return;

  const sessionCookie = createSessionCookie(publicUrl);
  // GitHub redirects the browser to the callback: with `Strict`, the cookie would be missing there.
  const pendingCookie = createCookie({ name: "signalbox_github", sameSite: "Lax" }, publicUrl);

  app.get(PATH, async (c) => {
    const request = c.req.raw;
    const { pathname, searchParams } = new URL(request.url);
    if (c.req.header("sec-fetch-site") === "cross-site" && !searchParams.has(REOPENED)) {
      searchParams.set(REOPENED, "1");
      return reopenPage(`${pathname}?${searchParams}`);
    }
    const started = await beginSignIn(
      seal,
      {
        returnTo: returnPath(searchParams.get("return_to")),
        formerSession: sessionCookie.read(request.headers),
      },
      now(),
    );
    const redirectUri = `${baseUrl(request, publicUrl)}${CALLBACK}`;
    return redirect(
      github.authorizeUrl({ ...started, redirectUri }),
      pendingCookie.set(request, started.cookie, PENDING_MS),
    );
  });

  app.get(CALLBACK, async (c) => {
    const request = c.req.raw;
    const { state, code, error } = c.req.query();
    const fail = (problem: SignInProblem) =>
      redirect(`/sign-in?problem=${problem}`, pendingCookie.set(request, "", 0));
    const pending = await resumeSignIn(seal, pendingCookie.read(request.headers), state, now());
    if (!pending) return fail("stale");
    if (code === undefined) return fail(error === "access_denied" ? "denied" : "rejected");
    const redirectUri = `${baseUrl(request, publicUrl)}${CALLBACK}`;
    const tokens = await github.exchangeCode(code, pending.verifier, redirectUri);
    const person = tokens.outcome === "ok" ? await people.signIn(tokens.value) : tokens;
    if (person.outcome !== "ok") {
      log.warn({ reason: person.message }, "a sign-in with GitHub failed");
      return fail(person.outcome);
    }
    // The callback request has the session cookie only if GitHub is on the same site as the hub.
    const former = [pending.formerSession, sessionCookie.read(request.headers)];
    for (const secret of new Set(former)) if (secret !== undefined) await sessions.end(secret);
    const session = await sessions.openFor(person.value);
    return pageThatOpens(pending.returnTo, [
      ...pendingCookie.set(request, "", 0),
      ...sessionCookie.set(request, session.secret, session.maxAgeMs),
    ]);
  });
}

const withCookies = (headers: Record<string, string>, cookies: readonly string[]): Headers => {
  const all = new Headers({ ...headers, "cache-control": "no-store" });
  for (const cookie of cookies) all.append("set-cookie", cookie);
  return all;
};

const redirect = (location: string, cookies: readonly string[]): Response =>
  new Response(null, { status: 302, headers: withCookies({ location }, cookies) });

/**
 * Returns a page that opens `path`. With a redirect, the browser would still treat the navigation as one
 * from GitHub, and would not send the `SameSite=Strict` cookie.
 */
function pageThatOpens(path: string, cookies: readonly string[]): Response {
  const target = escapeHtml(path);
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url=${target}">
<title>Signed in · Signalbox</title>
<p>You are signed in. <a href="${target}">Continue</a></p>
`;
  const headers = withCookies(pageHeaders(createNonce(), STATIC_POLICY), cookies);
  return new Response(html, { headers });
}
