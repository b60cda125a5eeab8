/** Builds the packages, because stories and browser tests run the built hub instead of the sources. */
import { execFileSync } from "node:child_process";

export default function setup(): void {
  if (!process.env.SIGNALBOX_TEST_SKIP_BUILD)
    execFileSync("npm", ["run", "--silent", "build"], { stdio: "inherit" });
}
