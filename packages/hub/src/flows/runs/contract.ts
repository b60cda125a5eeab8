/**
 * Tests what the runner guarantees on every store. Each backend passes a function that opens a new
 * store.
 */
import { describe, test } from "vitest";
import type { Store } from "../../store.ts";
import { agentsContract } from "./contract/agents.ts";
import { budgetContract } from "./contract/budget.ts";
import { deferredContract } from "./contract/deferred.ts";
import { executionContract } from "./contract/execution.ts";
import { createFixture, type Fixture } from "./contract/fixture.ts";
import { largeOutputsContract } from "./contract/large-outputs.ts";
import { largeValuesContract } from "./contract/large-values.ts";
import { loopsContract } from "./contract/loops.ts";
import { partsContract } from "./contract/parts.ts";
import { recoveryContract } from "./contract/recovery.ts";

export type It = (title: string, body: (fixture: Fixture) => Promise<void>) => void;

export function runnerContract(
  backend: string,
  inStore: (body: (store: Store) => Promise<void>) => Promise<void>,
): void {
  const it: It = (title, body) =>
    test(title, () =>
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
    executionContract(it);
    recoveryContract(it);
    deferredContract(it);
    budgetContract(it);
    largeOutputsContract(it);
    largeValuesContract(it);
  });
  describe(`the parts of a step on ${backend}`, () => partsContract(it));
  describe(`an agent on ${backend}`, () => agentsContract(it));
  describe(`a loop of flows on ${backend}`, () => loopsContract(it));
}
