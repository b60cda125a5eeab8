/** The button at the end of a list that is loaded in pages. */
import { Button } from "./button.tsx";

interface Paged {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage: () => Promise<unknown>;
}

export const LoadMore = ({ list, what }: { list: Paged; what: string }) =>
  list.hasNextPage && (
    <div className="mt-4">
      <Button busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
        Load more {what}
      </Button>
    </div>
  );
