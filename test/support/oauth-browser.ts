import { createHash } from "node:crypto";

/** Sends the requests of a signed-in browser to the hub's authorization server. */
export interface OAuthBrowser {
  get(url: string | URL): Promise<Response>;
  /** Opens the consent page, allows or denies, and returns the response to the form. */
  decide(url: string | URL, decision?: "allow" | "deny"): Promise<Response>;
}

/** Signs in with a link that an operator's token creates. */
export async function signInBrowser(hubUrl: string, token: string): Promise<OAuthBrowser> {
  const { origin } = new URL(hubUrl);
  const created = await fetch(`${origin}/api/session/links`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
  });
  const { url } = (await created.json()) as { url: string };
  const session = await fetch(`${origin}/api/session`, {
    method: "POST",
    headers: { origin, "content-type": "application/json" },
    body: JSON.stringify({ code: url.slice(url.indexOf("#code=") + "#code=".length) }),
  });
  const cookie = session.headers.get("set-cookie")?.split(";")[0];
  if (!cookie) throw new Error(`the sign-in failed: ${session.status} ${await session.text()}`);
  return createOAuthBrowser(hubUrl, cookie);
}

/** Creates a browser that is signed in with the cookie of a session. */
export function createOAuthBrowser(hubUrl: string, cookie: string): OAuthBrowser {
  const { origin } = new URL(hubUrl);
  const get = (page: string | URL) =>
    fetch(new URL(page, hubUrl), { headers: { cookie }, redirect: "manual" });
  return {
    get,
    async decide(page, decision = "allow") {
      const html = await (await get(page)).text();
      const action = /<form method="post" action="([^"]+)"/.exec(html)?.[1];
      const consent = /name="consent" value="([^"]+)"/.exec(html)?.[1];
      if (!action || !consent) throw new Error(`the page has no form: ${html}`);
      return fetch(new URL(action, hubUrl), {
        method: "POST",
        headers: { cookie, origin },
        body: new URLSearchParams({ consent, decision }),
        redirect: "manual",
      });
    },
  };
}

const REDIRECT = "http://127.0.0.1/callback";
const VERIFIER = "v".repeat(43);

/**
 * Registers an OAuth client, allows it to use the whole hub in the browser, and redeems its code. Without
 * `scope`, the client gets the scopes that an agent needs.
 */
export async function connectClient(
  hubUrl: string,
  browser: OAuthBrowser,
  client_name: string,
  scope?: string,
): Promise<{ client_id: string; access_token: string; refresh_token: string }> {
  const registered = await fetch(`${hubUrl}/oauth/register`, {
    method: "POST",
    body: JSON.stringify({ client_name, redirect_uris: [REDIRECT] }),
  });
  const { client_id } = (await registered.json()) as { client_id: string };
  const query = new URLSearchParams({
    client_id,
    response_type: "code",
    redirect_uri: REDIRECT,
    code_challenge: createHash("sha256").update(VERIFIER).digest("base64url"),
    code_challenge_method: "S256",
    ...(scope !== undefined && { scope }),
  });
  const consented = await browser.decide(`/oauth/authorize?${query}`);
  const code = new URL(consented.headers.get("location") ?? "").searchParams.get("code") ?? "";
  const form = { grant_type: "authorization_code", client_id, code, code_verifier: VERIFIER };
  const issued = await fetch(`${hubUrl}/oauth/token`, {
    method: "POST",
    body: new URLSearchParams(form),
  });
  if (!issued.ok)
    throw new Error(`the hub issued no tokens: ${issued.status} ${await issued.text()}`);
  return {
    client_id,
    ...((await issued.json()) as { access_token: string; refresh_token: string }),
  };
}
