import type { Reporter, SerializedError, TestModule, TestRunEndReason, Vitest } from "vitest/node";

/**
 * Prints every skipped test with its reason, and one last line that scripts can parse:
 * `N passed, N failed[, N skipped]`.
 */
export default class ClosingLineReporter implements Reporter {
  #isFiltered = false;

  onInit(vitest: Vitest): void {
    // With `-t` all other tests count as skipped, and a list of them would hide the result.
    this.#isFiltered = vitest.config.testNamePattern !== undefined;
  }

  onTestRunEnd(
    modules: readonly TestModule[],
    unhandledErrors: readonly SerializedError[],
    reason: TestRunEndReason,
  ): void {
    let passed = 0;
    let failed = unhandledErrors.length;
    const skipped: string[] = [];
    for (const module of modules) {
      // A failed import or hook counts as a failure, because its tests did not run.
      failed += module.errors().length;
      for (const suite of module.children.allSuites()) failed += suite.errors().length;
      for (const test of module.children.allTests()) {
        const result = test.result();
        if (result.state === "passed") passed++;
        else if (result.state === "failed") failed++;
        else {
          const note = (result.state === "skipped" && result.note) || "no reason given";
          skipped.push(`${module.relativeModuleId} > ${test.fullName}: ${note}`);
        }
      }
    }
    // An interrupted run, or a run without tests, is not a success.
    if (reason !== "passed" && failed === 0) failed = 1;

    if (!this.#isFiltered) for (const line of skipped) console.log(`skipped: ${line}`);
    const skippedCount = skipped.length > 0 ? `, ${skipped.length} skipped` : "";
    console.log(`${passed} passed, ${failed} failed${skippedCount}`);
  }
}
