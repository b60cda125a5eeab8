import type { FakeGithub } from "./fake-github.ts";

/** Signs in with GitHub by following redirects with cookies. Returns the headers that a browser sends with its session. */
export async function signInWithGithub(
  hubUrl: string,
  github: Pick<FakeGithub, "setBrowserUser">,
  login: string,
): Promise<{ cookie: string; origin: string }> {
  github.setBrowserUser(login);
  const cookies = new Map<string, string>();
  const visit = async (target: string) => {
    const headers = { cookie: [...cookies].map((pair) => pair.join("=")).join("; ") };
    const response = await fetch(target, { headers, redirect: "manual" });
    for (const cookie of response.headers.getSetCookie()) {
      const [name = "", value = ""] = cookie.split(";")[0]?.split(/=(.*)/s) ?? [];
      cookies.set(name, value);
    }
    return response;
  };
  let response = await visit(`${hubUrl}/auth/github?return_to=/inbox`);
  while (response.status === 302) response = await visit(response.headers.get("location") ?? "");
  const page = await response.text();
  const session = [...cookies].find(([name]) => name.startsWith("signalbox_session"));
  if (!session || !page.includes("url=/inbox"))
    throw new Error(`the sign-in of ${login} failed: ${response.status} ${page}`);
  return { cookie: session.join("="), origin: hubUrl };
}
