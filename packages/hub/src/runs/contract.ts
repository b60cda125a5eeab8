/** What the runner promises on every store. Each backend calls this with a way into a fresh store. */
import { describe, test } from "vitest";
import type { Store } from "../store/store.ts";
import { createFixture, type Fixture } from "./contract/fixture.ts";
import { handOverContract } from "./contract/hand-over.ts";
import { loopsContract } from "./contract/loops.ts";
import { walkContract } from "./contract/walk.ts";

export type It = (promise: string, body: (fixture: Fixture) => Promise<void>) => void;

export function runnerContract(
  backend: string,
  inStore: (body: (store: Store) => Promise<void>) => Promise<void>,
): void {
  const it: It = (promise, body) =>
    test(promise, () =>
      inStore(async (store) => {
        const fixture = createFixture(store);
        try {
          await body(fixture);
        } finally {
          await fixture.close();
        }
      }),
    );
  describe(`a run on ${backend}`, () => {
    walkContract(it);
    handOverContract(it);
    loopsContract(it);
  });
}
