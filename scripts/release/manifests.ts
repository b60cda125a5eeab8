/** Computes the package.json files of a release from those in the repository. Pure. */

export interface Manifest {
  name: string;
  version: string;
  private?: boolean;
  repository?: { type: string; url: string; directory: string };
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  [field: string]: unknown;
}

/** The folders of the published packages. Each package comes after its dependencies. */
export const PUBLISHED = [
  "packages/triggers",
  "packages/bridge",
  "packages/cli",
  "packages/hub",
] as const;

/** Returns the manifests with a new version, also in the dependencies between the packages. */
export function withVersion(
  manifests: ReadonlyMap<string, Manifest>,
  version: string,
  /** The GitHub repository, such as `owner/name`. npm requires its URL for a provenance statement. */
  repository: string | undefined,
): Map<string, Manifest> {
  const names = new Set([...manifests.values()].map(({ name }) => name));
  const withVersions = (dependencies: Record<string, string>) =>
    Object.fromEntries(
      Object.entries(dependencies).map(([name, range]) => [
        name,
        names.has(name) ? version : range,
      ]),
    );
  return new Map(
    [...manifests].map(([folder, manifest]) => [
      folder,
      {
        ...manifest,
        version,
        ...(repository && {
          repository: {
            type: "git",
            url: `git+https://github.com/${repository}.git`,
            directory: folder,
          },
        }),
        ...(manifest.dependencies && { dependencies: withVersions(manifest.dependencies) }),
        // npm would look for another version of a package of the workspace in the registry.
        ...(manifest.devDependencies && {
          devDependencies: withVersions(manifest.devDependencies),
        }),
      },
    ]),
  );
}
