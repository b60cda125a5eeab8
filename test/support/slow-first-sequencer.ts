import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Starts the slow files, crash tests and stories, first. Otherwise one worker could run a slow file at the end alone. */
export class SlowFirstSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) =>
      moduleId.includes("/test/crash/") ? 0 : moduleId.includes("/test/stories/") ? 1 : 2;
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}
