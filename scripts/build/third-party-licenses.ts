/** A plugin for bundlers: writes the licenses of all bundled packages beside the bundle. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const LICENSES_FILE = "THIRD-PARTY-LICENSES.txt";

interface PluginContext {
  getModuleIds(): Iterable<string>;
  emitFile(file: { type: "asset"; fileName: string; source: string }): unknown;
}

interface OutputFile {
  /** The files from which an asset, such as a font, was created. */
  originalFileNames?: string[];
}

/** If a page and its workers share one instance, their packages are listed together. */
export function thirdPartyLicenses() {
  const folders = new Set<string>();
  return {
    name: "third-party-licenses",
    generateBundle(this: PluginContext, _: unknown, output: Record<string, OutputFile>) {
      const assets = Object.values(output).flatMap(
        ({ originalFileNames = [] }) => originalFileNames,
      );
      for (const file of [...this.getModuleIds(), ...assets]) {
        const folder = PACKAGE_FOLDER.exec(file)?.[0];
        // Bundlers start the ids of virtual modules with a null character.
        if (folder !== undefined) folders.add(folder.replace("\0", ""));
      }
      const texts = new Set([...folders].map(describePackage).sort());
      const source = [...texts].join(`\n${"-".repeat(80)}\n\n`);
      this.emitFile({ type: "asset", fileName: LICENSES_FILE, source });
    },
  };
}

/** Matches the folder of the package that a file belongs to. */
const PACKAGE_FOLDER = /^.*\bnode_modules[/\\](?:@[^/\\]+[/\\])?[^/\\]+(?=[/\\])/;

function describePackage(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const texts = readdirSync(folder)
    .filter((file) => /^(licen[cs]e|notice|copying)/i.test(file))
    .sort()
    .map((file) => readFileSync(join(folder, file), "utf8").trim());
  return `${[`${name} ${version} (${license})`, ...texts].join("\n\n")}\n`;
}
