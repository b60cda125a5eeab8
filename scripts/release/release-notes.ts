/** Writes the notes of a release from the changelog and the subjects of its commits. Pure. */

const SECTIONS: readonly [title: string, types: readonly string[]][] = [
  ["New", ["feat"]],
  ["Fixed", ["fix"]],
  ["Faster", ["perf"]],
  ["Documentation", ["docs"]],
];

/**
 * Matches a subject such as `feat(ingest)!: text`, where `!` marks a breaking change. Other types than those
 * in SECTIONS, such as tests and refactors, are in the notes only if they are breaking changes.
 */
const SUBJECT = /^(?<type>[a-z]+)(?:\((?<scope>[^)]+)\))?(?<breaking>!)?: (?<text>.+)$/;

export function releaseNotes(subjects: readonly string[]): string {
  const commits = subjects.flatMap((subject) => {
    const { type = "", scope, breaking, text = "" } = SUBJECT.exec(subject)?.groups ?? {};
    const line = `- ${scope ? `**${scope}**: ` : ""}${text}`;
    return text === "" ? [] : [{ type, line, isBreaking: breaking !== undefined }];
  });
  const formatSection = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : [`## ${title}\n\n${lines.join("\n")}\n`];
  const sections = [
    ...formatSection(
      "Breaking changes",
      commits.filter(({ isBreaking }) => isBreaking).map(({ line }) => line),
    ),
    ...SECTIONS.flatMap(([title, types]) =>
      formatSection(
        title,
        commits
          .filter(({ type, isBreaking }) => types.includes(type) && !isBreaking)
          .map(({ line }) => line),
      ),
    ),
  ];
  return sections.length === 0 ? "Internal changes only.\n" : sections.join("\n");
}

/** Returns the text below the heading `## VERSION`, or `## VERSION (DATE)`; undefined if there is none. */
export function changelogSection(changelog: string, version: string): string | undefined {
  const [, ...sections] = changelog.split(/^## /m);
  const section = sections.find((text) => text.split(/[ \n]/, 1)[0] === version);
  return section && `${section.slice(section.indexOf("\n")).trim()}\n\n`;
}
