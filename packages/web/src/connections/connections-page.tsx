import { EmptyState } from "../ui/empty-state.tsx";

export default function ConnectionsPage() {
  return <EmptyState title="Connections" />;
}
