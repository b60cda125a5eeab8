import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Starts the crash tests and stories first, so that no long file is left for a single worker. */
export class SlowFirstSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) =>
      moduleId.includes("/test/crash/") ? 0 : moduleId.includes("/test/stories/") ? 1 : 2;
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}
