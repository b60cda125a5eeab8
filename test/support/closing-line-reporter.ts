import type { Reporter, SerializedError, TestModule, TestRunEndReason, Vitest } from "vitest/node";

/**
 * Ends the run with one line that scripts can read, `N passed, N failed[, N skipped]`, and before
 * it names every skipped test with its reason, so that no skip goes unseen.
 */
export default class ClosingLineReporter implements Reporter {
  #filtered = false;

  onInit(vitest: Vitest): void {
    // With `-t` the unasked-for tests count as skipped; to list them would bury the answer.
    this.#filtered = vitest.config.testNamePattern !== undefined;
  }

  onTestRunEnd(
    modules: readonly TestModule[],
    unhandledErrors: readonly SerializedError[],
    reason: TestRunEndReason,
  ): void {
    let passed = 0;
    // Each broken import or hook is a failure too: the tests behind it never ran.
    let failed = unhandledErrors.length;
    const skipped: string[] = [];
    for (const module of modules) {
      failed += module.errors().length;
      for (const suite of module.children.allSuites()) failed += suite.errors().length;
      for (const test of module.children.allTests()) {
        const result = test.result();
        if (result.state === "passed") passed++;
        else if (result.state === "failed") failed++;
        else {
          const why = (result.state === "skipped" && result.note) || "no reason given";
          skipped.push(`${module.relativeModuleId} > ${test.fullName}: ${why}`);
        }
      }
    }
    // Interrupted, or no test found: not a success, whatever the counts.
    if (reason !== "passed" && failed === 0) failed = 1;

    if (!this.#filtered) for (const line of skipped) console.log(`skipped: ${line}`);
    const tail = skipped.length > 0 ? `, ${skipped.length} skipped` : "";
    console.log(`${passed} passed, ${failed} failed${tail}`);
  }
}
