import { ButtonLink } from "../ui/button.tsx";
import { EmptyState } from "../ui/empty-state.tsx";

/** Shown to members instead of a page that needs the role `admin`. */
export const AdminsOnly = () => (
  <EmptyState
    title="This page is for admins"
    actions={
      <>
        <ButtonLink to="/inbox">Go to the inbox</ButtonLink>
        <ButtonLink to="/runs">Go to the runs</ButtonLink>
      </>
    }
  >
    You are a member here: you can use the inbox and see runs. Flows, connections, sources, tokens
    and settings are managed by the owners of the organization.
  </EmptyState>
);
