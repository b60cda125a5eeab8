import { EmptyState } from "../ui/empty-state.tsx";

export default function FlowsPage() {
  return <EmptyState title="Flows" />;
}
