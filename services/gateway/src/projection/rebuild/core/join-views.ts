import type { StoredView } from '../../core/run-view.ts';

/** A run in one of two sets of views, or in both. */
export interface JoinedViews {
  readonly live: StoredView | undefined;
  readonly next: StoredView | undefined;
}

/** Goes through two sets together. Both come in the order of their run ids. */
export async function* joinViews(
  live: AsyncIterable<StoredView>,
  next: AsyncIterable<StoredView>,
): AsyncGenerator<JoinedViews> {
  const [ofLive, ofNext] = [live[Symbol.asyncIterator](), next[Symbol.asyncIterator]()];
  let [a, b] = [await viewIn(ofLive), await viewIn(ofNext)];
  while (a ?? b) {
    const isFirst = a && (!b || a.run.run_id <= b.run.run_id);
    const isSecond = b && (!a || b.run.run_id <= a.run.run_id);
    yield { live: isFirst ? a : undefined, next: isSecond ? b : undefined };
    if (isFirst) a = await viewIn(ofLive);
    if (isSecond) b = await viewIn(ofNext);
  }
}

const viewIn = async (views: AsyncIterator<StoredView>): Promise<StoredView | undefined> => {
  const { value, done } = await views.next();
  return done ? undefined : value;
};
