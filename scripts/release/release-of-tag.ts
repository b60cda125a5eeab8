/** What a git tag releases. */
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

/** Semantic versions without build metadata, which npm would remove. */
export function releaseOfTag(tag: string): Release {
  const [, number, prerelease = ""] = TAG.exec(tag) ?? [];
  if (number === undefined)
    throw new Error(
      `The tag ${JSON.stringify(tag)} is not a release: name it v1.2.3, or v1.2.3-rc.1 for a prerelease.`,
    );
  return { version: number + prerelease, distTag: prerelease === "" ? "latest" : "next" };
}

/** For programs: on an invalid tag, it prints the message without a stack, and exits. */
export function releaseOfArgument(tag: string): Release {
  try {
    return releaseOfTag(tag);
  } catch (error) {
    console.error((error as Error).message);
    process.exit(1);
  }
}
