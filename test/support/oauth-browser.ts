/** A signed-in browser, as far as the authorization server needs one. */
export interface OAuthBrowser {
  get(url: string | URL): Promise<Response>;
  /** Opens the page, presses a button, and returns the response to the form. */
  decide(url: string | URL, decision?: "allow" | "deny"): Promise<Response>;
}

/** Signs in with a link of the operator. */
export async function signInBrowser(hub: string, token: string): Promise<OAuthBrowser> {
  const { origin } = new URL(hub);
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
  const get = (page: string | URL) =>
    fetch(new URL(page, hub), { headers: { cookie }, redirect: "manual" });
  return {
    get,
    async decide(page, decision = "allow") {
      const html = await (await get(page)).text();
      const action = /<form method="post" action="([^"]+)"/.exec(html)?.[1];
      const consent = /name="consent" value="([^"]+)"/.exec(html)?.[1];
      if (!action || !consent) throw new Error(`the page has no form: ${html}`);
      return fetch(new URL(action, hub), {
        method: "POST",
        headers: { cookie, origin },
        body: new URLSearchParams({ consent, decision }),
        redirect: "manual",
      });
    },
  };
}
