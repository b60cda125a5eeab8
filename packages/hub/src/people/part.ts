/** People: they sign in with GitHub, and their memberships limit their tokens. */
import type { TokenLookup } from "../kernel/access/scopes.ts";
import { avatarOrigins } from "../kernel/http/avatars.ts";
import type { Kernel, Part } from "../part.ts";
import type { WebSessions } from "../tokens/web-sessions.ts";
import { addGithubSignIn } from "./github-sign-in.ts";
import { createGithubUsers, type GithubUsers } from "./github-users.ts";
import { createPeople, type People } from "./people.ts";
import { withPeople } from "./with-people.ts";

export interface PeopleService {
  /** Looks up tokens, with the current roles of their people. */
  tokens: TokenLookup;
  /** Undefined if people cannot sign in. A hub with one tenant has only its operator. */
  signIn: { github: GithubUsers; people: People } | undefined;
  /** The origins of the pictures of people. */
  avatarOrigins: string[];
}

/** How long the last confirmed memberships are valid while GitHub is unavailable. */
const KEEP_MEMBERSHIPS_MS = 3_600_000;

export function createPeopleService(kernel: Kernel): PeopleService {
  const { store, settings } = kernel;
  const signIn = createSignIn(kernel);
  return {
    tokens: withPeople(store, signIn?.people),
    signIn,
    avatarOrigins: signIn ? avatarOrigins(settings.github.url) : [],
  };
}

function createSignIn({ store, ports, settings, seal, onError }: Kernel): PeopleService["signIn"] {
  const { client, url, apiUrl } = settings.github;
  if (!client || settings.tenancy !== "github") return undefined;
  const { now, after } = ports.timers;
  const github = createGithubUsers({ url, apiUrl, client, fetch: ports.fetch, now });
  const people = createPeople({
    store,
    github,
    seal,
    now,
    after,
    recheckMs: settings.membershipRecheckMs,
    keepMs: KEEP_MEMBERSHIPS_MS,
    log: ports.log,
    onError,
  });
  return { github, people };
}

export const createPeoplePart = (
  { ports, settings, seal, checkHost }: Kernel,
  { signIn }: PeopleService,
  sessions: WebSessions,
): Part => ({
  mount(app) {
    addGithubSignIn(app, {
      github: signIn?.github,
      people: signIn?.people,
      sessions,
      seal,
      checkHost,
      publicUrl: settings.publicUrl,
      now: ports.timers.now,
      log: ports.log,
    });
  },
});
