import { EmptyState } from "../ui/empty-state.tsx";

export default function InboxPage() {
  return <EmptyState title="Inbox" />;
}
