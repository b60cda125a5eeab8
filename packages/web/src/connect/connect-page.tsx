import { EmptyState } from "../ui/empty-state.tsx";

export default function ConnectPage() {
  return <EmptyState title="Connect an agent" />;
}
