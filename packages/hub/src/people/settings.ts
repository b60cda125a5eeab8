/** The settings with which people sign in. */
import { integer, nonEmpty, setting, type ValuesOf } from "../kernel/settings.ts";

// biome-ignore format: a table
export const peopleDefinitions = {
  githubClientId: setting({ env: "GITHUB_CLIENT_ID", flag: "github-client-id", help: "the client ID of the App, to sign in with GitHub", schema: nonEmpty.optional() }),
  githubClientSecret: setting({ env: "GITHUB_CLIENT_SECRET", secret: true, help: "a client secret of the App", schema: nonEmpty.optional() }),
  membershipRecheck: setting({ env: "SIGNALBOX_MEMBERSHIP_RECHECK", flag: "membership-recheck", help: "seconds after which GitHub must confirm the memberships of a person again", schema: integer(1, 3_600).default(120) }),
} as const;

export interface PeopleSettings {
  /** After this time, GitHub must confirm the memberships of a person again. */
  membershipRecheckMs: number;
}

export const readPeopleSettings = ({
  membershipRecheck,
}: ValuesOf<typeof peopleDefinitions>): PeopleSettings => ({
  membershipRecheckMs: membershipRecheck * 1000,
});
