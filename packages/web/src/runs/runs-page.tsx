import { EmptyState } from "../ui/empty-state.tsx";

export default function RunsPage() {
  return <EmptyState title="Runs" />;
}
