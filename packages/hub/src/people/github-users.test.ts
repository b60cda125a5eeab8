import { beforeAll, beforeEach, expect, it, onTestFinished } from "vitest";
import { type FakeGithub, startFakeGithub } from "../../../../test/support/fake-github.ts";
import { createGithubUsers, type GithubUsers } from "./github-users.ts";
import { beginSignIn, PENDING_MS, resumeSignIn } from "./pending-sign-in.ts";

const NOW = Date.UTC(2026, 0, 1);
const CALLBACK = "http://127.0.0.1:9/oauth/callback";
const seal = { seal: async (text: string) => text, unseal: async (text: string) => text };

let fake: FakeGithub;
let users: GithubUsers;

beforeAll(async () => {
  fake = await startFakeGithub();
  return () => fake.close();
});
beforeEach(() => {
  users = createUsers();
});

const createUsers = (secret = fake.app.clientSecret) =>
  createGithubUsers({
    url: fake.url,
    apiUrl: fake.apiUrl,
    client: { id: fake.app.clientId, secret },
    fetch,
    now: () => NOW,
  });

/** Signs `login` in at GitHub, and returns the code and the verifier. */
async function authorize(login: string) {
  fake.setBrowserUser(login);
  onTestFinished(() => fake.setBrowserUser(undefined));
  const started = await beginSignIn(seal, { returnTo: "/" }, NOW);
  const url = users.authorizeUrl({ ...started, redirectUri: CALLBACK });
  const response = await fetch(url, { redirect: "manual" });
  const { searchParams } = new URL(response.headers.get("location") ?? "");
  const state = searchParams.get("state") ?? "";
  const pending = await resumeSignIn(seal, started.cookie, state, NOW);
  return { code: searchParams.get("code") ?? "", verifier: pending?.verifier ?? "" };
}

it("accepts a code with its verifier only once, and identifies the person", async () => {
  const ada = fake.addUser("ada", { name: "Ada" });
  const acme = fake.addOrganization("acme");
  const foreign = fake.addOrganization("foreign");
  fake.install("acme");
  fake.addCollaborator(fake.install("foreign").id, "ada");
  fake.setMember("acme", "ada");
  const { code, verifier } = await authorize("ada");
  const tokens = await users.exchangeCode(code, verifier, CALLBACK);
  expect(tokens).toMatchObject({ outcome: "ok", value: { expiresAt: NOW + 8 * 3_600_000 } });
  if (tokens.outcome !== "ok") return;
  expect(await users.exchangeCode(code, verifier, CALLBACK)).toMatchObject({ outcome: "rejected" });
  const listed = await fetch(`${fake.apiUrl}/user/installations`, {
    headers: { authorization: `Bearer ${tokens.value.access}` },
  });
  expect(JSON.stringify(await listed.json())).toContain(foreign.login);
  expect(await users.identify(tokens.value.access)).toEqual({
    outcome: "ok",
    value: {
      id: `github:${ada.id}`,
      login: "ada",
      name: "Ada",
      avatar: expect.stringContaining("http"),
      memberships: [{ tenant: String(acme.id), role: "member" }],
    },
  });
});

it("rejects a code with another verifier", async () => {
  fake.addUser("bob");
  const { code } = await authorize("bob");
  const { verifier } = await authorize("bob");
  expect(await users.exchangeCode(code, verifier, CALLBACK)).toMatchObject({ outcome: "rejected" });
});

it("accepts a refresh token only once, and rejects an expired access token", async () => {
  fake.addUser("eve");
  const { access_token, refresh_token } = fake.issueTokens("eve");
  fake.expireTokens("eve");
  expect(await users.identify(access_token)).toMatchObject({ outcome: "rejected" });
  const refreshed = await users.refreshTokens(refresh_token);
  expect(refreshed.outcome).toBe("ok");
  expect(await users.refreshTokens(refresh_token)).toMatchObject({ outcome: "rejected" });
});

it("returns unavailable for a wrong client secret, a rate limit and an outage", async () => {
  fake.addUser("dan");
  const { access_token, refresh_token } = fake.issueTokens("dan");
  expect(await createUsers("wrong").refreshTokens(refresh_token)).toEqual({
    outcome: "unavailable",
    message: expect.stringContaining("client_secret"),
  });
  fake.limitRate(3);
  expect(await users.identify(access_token)).toMatchObject({ outcome: "unavailable" });
  const nowhere = createGithubUsers({
    url: "http://127.0.0.1:9",
    apiUrl: "http://127.0.0.1:9",
    client: { id: "a", secret: "b" },
    fetch,
    now: () => NOW,
  });
  expect(await nowhere.identify("a")).toMatchObject({ outcome: "unavailable" });
  expect(await nowhere.refreshTokens("a")).toMatchObject({ outcome: "unavailable" });
});

it("reads all pages of organizations and installations", async () => {
  fake.addUser("fay");
  for (let at = 0; at < 101; at += 1) {
    fake.addOrganization(`fay-${at}`);
    fake.setMember(`fay-${at}`, "fay", { role: "admin" });
    fake.install(`fay-${at}`);
  }
  const identified = await users.identify(fake.issueTokens("fay").access_token);
  expect(identified.outcome === "ok" && identified.value.memberships.length).toBe(101);
});

it("resumes a sign-in only in the browser that started it, with its state and in time", async () => {
  const signIn = await beginSignIn(seal, { returnTo: "/inbox" }, NOW);
  const otherSignIn = await beginSignIn(seal, { returnTo: "/" }, NOW);
  const { cookie, state } = signIn;
  expect(await resumeSignIn(seal, cookie, state, NOW)).toMatchObject({ returnTo: "/inbox" });
  expect(await resumeSignIn(seal, undefined, state, NOW)).toBeUndefined();
  expect(await resumeSignIn(seal, cookie, undefined, NOW)).toBeUndefined();
  expect(await resumeSignIn(seal, cookie, otherSignIn.state, NOW)).toBeUndefined();
  expect(await resumeSignIn(seal, otherSignIn.cookie, state, NOW)).toBeUndefined();
  expect(await resumeSignIn(seal, "{}", state, NOW)).toBeUndefined();
  expect(await resumeSignIn(seal, cookie, state, NOW + PENDING_MS)).toBeUndefined();
});
