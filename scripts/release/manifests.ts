/** The package.json of a release, computed from those in the repository. Pure. */

export interface Manifest {
  name: string;
  version: string;
  private?: boolean;
  repository?: { type: string; url: string; directory: string };
  dependencies?: Record<string, string>;
  [field: string]: unknown;
}

/** The folders of the published packages. A package comes after those that it depends on. */
export const PUBLISHED = ["packages/triggers", "packages/bridge", "packages/hub"] as const;

/** Sets the version of all packages, and of the dependencies between them. */
export function withVersion(
  manifests: ReadonlyMap<string, Manifest>,
  version: string,
  /** Such as `owner/name`. npm requires the URL for a statement of provenance. */
  repository: string | undefined,
): Map<string, Manifest> {
  const names = new Set([...manifests.values()].map(({ name }) => name));
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
        ...(manifest.dependencies && {
          dependencies: Object.fromEntries(
            Object.entries(manifest.dependencies).map(([name, range]) => [
              name,
              names.has(name) ? version : range,
            ]),
          ),
        }),
      },
    ]),
  );
}
