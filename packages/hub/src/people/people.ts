/**
 * The people who have signed in with GitHub. GitHub confirms the memberships of a person again when
 * they are older than `recheckMs`, so that a removed member loses access within that time. While
 * GitHub is unavailable, the last confirmed memberships stay valid for `keepMs`. If GitHub rejects
 * the person's tokens, the person's sessions and tokens end.
 */
import type { Log } from "../kernel/lib/log.ts";
import type { Seal } from "../kernel/lib/seal.ts";
import type { Timers } from "../kernel/lib/timers.ts";
import type { Store } from "../store.ts";
import type { GithubPerson, GithubUsers, UserAnswer, UserTokens } from "./github-users.ts";
import type { Person } from "./model.ts";

export interface PeopleOptions {
  store: Store;
  github: Pick<GithubUsers, "identify" | "refreshTokens">;
  seal: Seal;
  now: () => number;
  after: Timers["after"];
  recheckMs: number;
  keepMs: number;
  log: Pick<Log, "warn" | "info">;
  onError: (error: unknown) => void;
}

export interface People {
  /** Stores the person to whom GitHub has issued these tokens. */
  signIn(tokens: UserTokens): Promise<UserAnswer<Person>>;
  /**
   * Returns the person with the current memberships. Old memberships are confirmed first if `wait` is
   * true, otherwise in the background. `unconfirmed`: GitHub has not confirmed them for
   * too long. `ended`: the person must sign in again.
   */
  find(id: string, options: { wait: boolean }): Promise<Person | "unconfirmed" | "ended">;
}

/**
 * The lease of a check, which takes less time. After a failed check, the next one starts when the
 * lease ends.
 */
const LEASE_MS = 30_000;
/** The interval in which the result of another process is polled. */
const POLL_MS = 250;
/** How long the result of another process is awaited. */
const MAX_WAIT_MS = 5_000;
/**
 * An access token is refreshed this long before it expires, because the requests of a check take
 * time.
 */
const EXPIRY_MARGIN_MS = 60_000;

export function createPeople(options: PeopleOptions): People {
  const { store, github, seal, now, after, recheckMs, keepMs, log, onError } = options;
  const checks = new Map<string, Promise<Person | undefined>>();

  /** A time in the future is not recent either: the clock has been set back. */
  const isConfirmedWithin = ({ checked_at }: Person, ms: number) =>
    checked_at <= now() && now() - checked_at < ms;

  /** Concurrent callers share one check. */
  const check = (id: string): Promise<Person | undefined> => {
    const running = checks.get(id);
    if (running) return running;
    const started = runCheck(id).finally(() => checks.delete(id));
    checks.set(id, started);
    return started;
  };

  async function runCheck(id: string): Promise<Person | undefined> {
    const leased = await store.leasePerson(id, now(), now() + LEASE_MS);
    if (!leased) return waitForOtherProcess(id);
    if (leased.sealed) {
      const { sealed, answer } = await confirm({ ...leased, sealed: leased.sealed });
      if (answer.outcome === "ok")
        await store.putPerson({ ...answer.value, sealed, checked_at: now() }, sealed);
      else if (answer.outcome === "rejected") {
        log.info(
          { person: id, reason: answer.message },
          "GitHub has ended the sign-in of a person",
        );
        await store.endPerson(id, sealed, now());
      } else
        log.warn({ person: id, reason: answer.message }, "cannot confirm memberships at GitHub");
    }
    return store.getPerson(id);
  }

  /**
   * Called while another process checks the person, or after its check has failed. If the memberships
   * are too old, waits for the result, because a page sends requests to several processes at the same
   * time.
   */
  async function waitForOtherProcess(id: string): Promise<Person | undefined> {
    for (let waited = 0; ; waited += POLL_MS) {
      const person = await store.getPerson(id);
      if (!person?.sealed || isConfirmedWithin(person, keepMs) || waited >= MAX_WAIT_MS)
        return person;
      await new Promise<void>((resolve) => after(POLL_MS, resolve));
    }
  }

  /**
   * Confirms the memberships at GitHub. Also returns the sealed tokens, which may have been
   * refreshed.
   */
  async function confirm(
    person: Person & { sealed: string },
  ): Promise<{ sealed: string; answer: UserAnswer<GithubPerson> }> {
    const { sealed } = person;
    const tokens = await unsealTokens(sealed);
    if (!tokens) return { sealed, answer: CANNOT_UNSEAL };
    const { access, refresh, expiresAt } = tokens;
    const isExpired = expiresAt !== null && expiresAt - EXPIRY_MARGIN_MS <= now();
    const answer = isExpired ? EXPIRED : await github.identify(access);
    if (answer.outcome !== "rejected" || refresh === null) return { sealed, answer };
    const refreshed = await github.refreshTokens(refresh);
    if (refreshed.outcome !== "ok") return { sealed, answer: refreshed };
    // Stored before anything else can fail: GitHub no longer accepts the former tokens.
    const refreshedSealed = await sealTokens(refreshed.value);
    await store.putPerson({ ...person, sealed: refreshedSealed }, sealed);
    return { sealed: refreshedSealed, answer: await github.identify(refreshed.value.access) };
  }

  const sealTokens = (tokens: UserTokens) => seal.seal(JSON.stringify(tokens));
  const unsealTokens = (sealed: string) =>
    seal.unseal(sealed).then(
      (text) => JSON.parse(text) as UserTokens,
      () => undefined,
    );

  return {
    async signIn(tokens) {
      const answer = await github.identify(tokens.access);
      if (answer.outcome !== "ok") return answer;
      const sealed = await sealTokens(tokens);
      const person = { ...answer.value, sealed, checked_at: now() };
      await store.putPerson(person);
      return { outcome: "ok", value: person };
    },

    async find(id, { wait }) {
      let person = await store.getPerson(id);
      if (person?.sealed && !isConfirmedWithin(person, recheckMs)) {
        const checked = check(id);
        if (wait) person = await checked;
        else checked.catch(onError);
      }
      if (!person?.sealed) return "ended";
      return isConfirmedWithin(person, keepMs) ? person : "unconfirmed";
    },
  };
}

/** Not a rejection: one process with a wrong key must not end all sessions. */
const CANNOT_UNSEAL = {
  outcome: "unavailable" as const,
  message: "the stored tokens cannot be decrypted with the key of this hub",
};
const EXPIRED = { outcome: "rejected" as const, message: "the access token has expired" };
