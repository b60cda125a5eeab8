import { expect, it, onTestFinished } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { openSqlite } from "../kernel/backends/sqlite.ts";
import { createSeal } from "../kernel/lib/seal.ts";
import { storeDefinition } from "../store.ts";
import type { GithubPerson, UserAnswer, UserTokens } from "./github-users.ts";
import { createPeople } from "./people.ts";

const START = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const ADA: GithubPerson = {
  id: "github:7",
  login: "ada",
  name: null,
  avatar: null,
  memberships: [{ tenant: "100", role: "member" }],
};
const UNAVAILABLE = { outcome: "unavailable", message: "GitHub returned 503" } as const;
const REJECTED = { outcome: "rejected", message: "Bad credentials" } as const;

/**
 * Uses a fake GitHub with one person, whose refresh tokens work once. `pollMs` is the interval in which the
 * result of another process is polled.
 */
function setup({ pollMs = 0 } = {}) {
  const store = openSqlite(storeDefinition, `${tempFolder()}/hub.db`);
  onTestFinished(() => store.close());
  let now = START;
  let generation = 0;
  const github = {
    person: ADA,
    calls: [] as string[],
    failure: undefined as typeof UNAVAILABLE | typeof REJECTED | undefined,
    tokens: (): UserTokens => ({
      access: `access ${generation}`,
      refresh: `refresh ${generation}`,
      expiresAt: now + 8 * HOUR,
    }),
    async identify(access: string): Promise<UserAnswer<GithubPerson>> {
      github.calls.push(access);
      if (github.failure) return github.failure;
      return access === `access ${generation}` ? { outcome: "ok", value: github.person } : REJECTED;
    },
    async refreshTokens(refresh: string): Promise<UserAnswer<UserTokens>> {
      github.calls.push(refresh);
      if (github.failure) return github.failure;
      if (refresh !== `refresh ${generation}`) return REJECTED;
      generation += 1;
      return { outcome: "ok", value: github.tokens() };
    },
  };
  const start = (key = 1) =>
    createPeople({
      store,
      github,
      seal: createSeal(new Uint8Array(32).fill(key)),
      now: () => now,
      after(_, work) {
        setTimeout(work, pollMs);
        return () => {};
      },
      recheckMs: 2 * MINUTE,
      keepMs: HOUR,
      log: { info() {}, warn() {} },
      onError: (error) => {
        throw error;
      },
    });
  return { store, github, start, people: start(), advance: (ms: number) => (now += ms) };
}

const wait = { wait: true };

it("confirms memberships again when they are old, once for concurrent callers", async () => {
  const { people, github, advance } = setup();
  expect(await people.find("github:7", wait)).toBe("ended");
  await people.signIn(github.tokens());
  github.calls.length = 0;
  advance(2 * MINUTE - 1);
  expect(await people.find("github:7", wait)).toMatchObject(ADA);
  expect(github.calls).toEqual([]);
  advance(1);
  github.person = { ...ADA, memberships: [] };
  const found = await Promise.all([
    people.find("github:7", wait),
    people.find("github:7", wait),
    people.find("github:7", { wait: false }),
  ]);
  expect(found.map((person) => (person as GithubPerson).memberships.length)).toEqual([0, 0, 1]);
  expect(github.calls).toEqual(["access 0"]);
  expect(await people.find("github:7", { wait: false })).toMatchObject({ memberships: [] });
});

it("keeps the last memberships for an hour while GitHub is unavailable", async () => {
  const { people, github, advance } = setup();
  await people.signIn(github.tokens());
  github.failure = UNAVAILABLE;
  advance(HOUR - 1);
  expect(await people.find("github:7", wait)).toMatchObject(ADA);
  advance(1);
  expect(await people.find("github:7", wait)).toBe("unconfirmed");
  github.failure = undefined;
  advance(30_000); // the lease of the failed check ends
  expect(await people.find("github:7", wait)).toMatchObject(ADA);
});

it("checks again at most every 30 seconds after a failure", async () => {
  const { people, github, advance } = setup();
  await people.signIn(github.tokens());
  github.failure = UNAVAILABLE;
  github.calls.length = 0;
  advance(2 * MINUTE);
  for (let at = 0; at < 40; at += 1) {
    await people.find("github:7", wait);
    advance(1_000);
  }
  expect(github.calls).toHaveLength(2);
});

it("refreshes expired tokens in only one of several processes", async () => {
  // A process polls 20 times for the check of another process. 100 ms each suffice on a busy machine.
  const { people, start, github, advance } = setup({ pollMs: 100 });
  await people.signIn(github.tokens());
  const replicas = [people, start(), start()];
  for (const generation of [1, 2, 3]) {
    advance(8 * HOUR);
    const found = await Promise.all(replicas.map((replica) => replica.find("github:7", wait)));
    expect(found).toEqual(Array(3).fill(expect.objectContaining({ login: "ada" })));
    expect(github.calls.at(-1)).toBe(`access ${generation}`);
    for (const replica of replicas) expect(await replica.find("github:7", wait)).toMatchObject(ADA);
  }
});

it("stores refreshed tokens even if GitHub failure afterwards", async () => {
  const { people, github, advance } = setup();
  await people.signIn(github.tokens());
  const { identify } = github;
  github.identify = async () => UNAVAILABLE;
  advance(8 * HOUR);
  expect(await people.find("github:7", wait)).toBe("unconfirmed");
  github.identify = identify;
  advance(30_000);
  expect(await people.find("github:7", wait)).toMatchObject(ADA);
});

it("ends the person's sessions and tokens when GitHub rejects the tokens", async () => {
  const { people, store, github, advance } = setup();
  await people.signIn(github.tokens());
  await store.putToken({
    id: "tab",
    kind: "session",
    person: "github:7",
    name: "tab",
    hash: "hash",
    scopes: ["admin"],
    tenants: ["*"],
    created_at: START,
    expires_at: null,
  });
  github.failure = REJECTED;
  advance(2 * MINUTE);
  expect(await people.find("github:7", wait)).toBe("ended");
  expect(await store.getToken("tab")).toMatchObject({ revoked_at: START + 2 * MINUTE });
  github.failure = undefined;
  expect(await people.find("github:7", wait)).toBe("ended");
  await people.signIn(github.tokens());
  expect(await people.find("github:7", wait)).toMatchObject(ADA);
});

it("does not end the sign-in of a person whose tokens it cannot decrypt", async () => {
  const { people, start, github, advance } = setup();
  await people.signIn(github.tokens());
  advance(2 * MINUTE);
  expect(await start(2).find("github:7", wait)).toMatchObject(ADA);
  advance(30_000);
  expect(await people.find("github:7", wait)).toMatchObject(ADA);
});

it("confirms memberships again if their check is in the future, because the clock was set back", async () => {
  const { people, github, advance } = setup();
  await people.signIn(github.tokens());
  advance(-1);
  github.person = { ...ADA, memberships: [] };
  expect(await people.find("github:7", wait)).toMatchObject({ memberships: [] });
});
