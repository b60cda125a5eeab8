/** Finds a Chromium that runs: an installed one, otherwise that of the npm package, otherwise Debian's package. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const INSTALLED_PATHS = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
];

const MANIFEST = new URL("../../../package.json", import.meta.url);
const UNPACK_PROGRAM = fileURLToPath(new URL("unpack-chromium.ts", import.meta.url));

export function findChromium(): string {
  const path = findInstalled() ?? unpack();
  if (canRun(path)) return path;
  if (process.platform === "linux" && process.getuid?.() === 0) {
    execFileSync("apt-get", ["update", "-q"], { stdio: "ignore" });
    execFileSync("apt-get", ["install", "-qy", "chromium"], { stdio: "ignore" });
    const installed = findInstalled();
    if (installed !== undefined && canRun(installed)) return installed;
  }
  throw new Error(
    `The browser tests need a Chromium, and ${path} does not start. Install Chromium, or set CHROMIUM to its path.`,
  );
}

const findInstalled = (): string | undefined => INSTALLED_PATHS.find(existsSync);

function canRun(path: string): boolean {
  // Windows opens a window instead of printing the version.
  if (process.platform === "win32") return true;
  try {
    execFileSync(path, ["--version", "--no-sandbox"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/**
 * Unpacks the Chromium of the npm package. Several processes may do this at the same time, and each may be
 * killed before it ends. So the folder gets its final name only when it is complete.
 */
function unpack(): string {
  const version = JSON.parse(readFileSync(MANIFEST, "utf8")).devDependencies["@sparticuz/chromium"];
  const folder = join(tmpdir(), `signalbox-chromium-${version}`);
  if (!existsSync(folder)) {
    const temporary = mkdtempSync(`${folder}-`);
    execFileSync(process.execPath, [UNPACK_PROGRAM], {
      env: { ...process.env, TMPDIR: temporary },
    });
    try {
      renameSync(temporary, folder);
    } catch (error) {
      rmSync(temporary, { recursive: true, force: true });
      if (!existsSync(folder)) throw error;
    }
  }
  return join(folder, "chromium");
}
