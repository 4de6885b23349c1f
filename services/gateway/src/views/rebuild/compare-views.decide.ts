import { viewText } from '@runledger/contracts/http/runs/run-history';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { outputsToErase, type StoredView } from '../run-view.ts';

type ComparedViews =
  /** Both have the same facts of the run, and say this of it. */
  | { readonly kind: 'same_facts'; readonly live: string; readonly next: string }
  /** One of them has facts that the other one does not have yet, or no longer. */
  | { readonly kind: 'moved' };

export const compareViews = ({ live, next }: JoinedViews): ComparedViews =>
  live && next && isOfSameFacts(live, next)
    ? { kind: 'same_facts', live: textOf(live), next: textOf(next) }
    : { kind: 'moved' };

const isOfSameFacts = (one: StoredView, other: StoredView): boolean =>
  one.run.org_id === other.run.org_id && one.head === other.head && one.webhook.head === other.webhook.head;

const textOf = ({ head, run, webhook }: StoredView): string =>
  `${run.run_id} ${head} ${webhook.head} ${viewText(run, webhook.state)}\n`;

export const keyOf = ({ run: { org_id, run_id } }: StoredView): RunKey => ({ org_id, run_id });

/** Of equal views: what was erased is in no fact, so the next set begins with all of it. */
export const hasErasedMore = (live: StoredView, next: StoredView): boolean =>
  outputsToErase(live.run) === null && outputsToErase(next.run) !== null;

/** Puts pages together until they have so many items; the last batch may have fewer. No batch is empty. */
export async function* inBatches<Item>(
  pages: AsyncIterable<readonly Item[]>,
  atLeast: number,
): AsyncGenerator<readonly Item[]> {
  let batch: Item[] = [];
  for await (const page of pages) {
    batch.push(...page);
    if (batch.length < atLeast) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** Each as a page of its own, to put them together. */
export async function* oneByOne<Item>(items: AsyncIterable<Item>): AsyncGenerator<readonly Item[]> {
  for await (const item of items) yield [item];
}

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

/** The log has lost the first fact. */
export const hasExpired = ({ run }: StoredView, since: string): boolean => run.created_at < since;
