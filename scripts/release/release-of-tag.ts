export interface Release {
  version: string;
  /** The dist-tag on npm, and the tag of the image. `npm install signalbox` installs `latest`. */
  distTag: "latest" | "next";
}

const NUMBER = "(?:0|[1-9]\\d*)";
const IDENTIFIER = "(?:0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*)";
const TAG = new RegExp(
  `^v(${NUMBER}\\.${NUMBER}\\.${NUMBER})(-${IDENTIFIER}(?:\\.${IDENTIFIER})*)?$`,
);

/**
 * Returns the release of a git tag, which is `v` and a semantic version. Build metadata is not allowed,
 * because npm would remove it.
 */
export function releaseOfTag(tag: string): Release {
  const [, core, prerelease = ""] = TAG.exec(tag) ?? [];
  if (core === undefined)
    throw new Error(
      `The tag ${JSON.stringify(tag)} is not a release: name it v1.2.3, or v1.2.3-rc.1 for a prerelease.`,
    );
  return { version: core + prerelease, distTag: prerelease === "" ? "latest" : "next" };
}

/** Like `releaseOfTag`, but prints the error of an invalid tag without a stack trace, and exits. */
export function releaseOfArgument(tag: string): Release {
  try {
    return releaseOfTag(tag);
  } catch (error) {
    console.error((error as Error).message);
    process.exit(1);
  }
}
