import type { MessagePort, Worker } from 'node:worker_threads';
import type { BrokerConfig } from '@runledger/event-log/connect/broker-config';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { LogLevel } from '@runledger/service-kit/observability/logger';
import type { ProjectionPosition } from '../core/projection-start.ts';
import type { StoredView } from '../core/run-view.ts';
import type { ViewSettings } from '../stores/open-view-store.ts';
import { ViewsUnavailable } from '../run-views.ts';
import type { BuildProgress, ComparedSet } from './build-views.ts';
import type { Difference } from './differences.ts';
import type { Digests } from './prove-views.ts';

/** What the thread begins with. */
export interface BuildOrder {
  readonly config: BrokerConfig & ViewSettings;
  readonly instance: string;
  readonly level: LogLevel;
  /** `VIEW_VERSION`, but in tests. */
  readonly version: number;
  /** Of the next set. */
  readonly derivation: number;
  /** Whether the live set should be equal: it is of this version. */
  readonly isCompared: boolean;
}

export interface Built {
  /** Of the next set. */
  readonly at: ProjectionPosition;
  /** Undefined for sets that were not compared. */
  readonly digests: Digests | undefined;
  readonly moved: readonly RunKey[];
  readonly differences: readonly Difference[];
}

type Query =
  | { readonly ask: 'listAll'; readonly after: string; readonly limit: number }
  | { readonly ask: 'load'; readonly keys: readonly RunKey[] };

/** From the thread. */
export type FromBuilder =
  | { readonly kind: 'query'; readonly number: number; readonly query: Query }
  | { readonly kind: 'progress'; readonly progress: BuildProgress }
  | { readonly kind: 'built'; readonly built: Built };

/** To the thread. */
type ToBuilder =
  | { readonly kind: 'views'; readonly number: number; readonly views: readonly StoredView[] }
  | { readonly kind: 'unavailable'; readonly number: number; readonly why: string };

/** The live set, as the thread sees it: the process that has it open answers. */
export const askingParent = (parent: MessagePort): ComparedSet => {
  const waiting = new Map<number, PromiseWithResolvers<StoredView[]>>();
  let asked = 0;
  parent.on('message', (message: ToBuilder) => {
    const waits = waiting.get(message.number);
    waiting.delete(message.number);
    if (message.kind === 'views') waits?.resolve([...message.views]);
    else waits?.reject(new ViewsUnavailable(message.why));
  });
  const ask = (query: Query): Promise<StoredView[]> => {
    const waits = Promise.withResolvers<StoredView[]>();
    asked += 1;
    waiting.set(asked, waits);
    parent.postMessage({ kind: 'query', number: asked, query } satisfies FromBuilder);
    return waits.promise;
  };
  return {
    listAll: ({ after, limit }) => ask({ ask: 'listAll', after, limit }),
    load: (keys) => ask({ ask: 'load', keys }),
  };
};

/** Answers a query of the thread. */
export const answerQuery = async (
  worker: Worker,
  live: ComparedSet,
  { number, query }: Extract<FromBuilder, { kind: 'query' }>,
): Promise<void> => {
  const answer = (message: ToBuilder): void => worker.postMessage(message);
  try {
    const views = query.ask === 'load' ? await live.load(query.keys) : await live.listAll(query);
    answer({ kind: 'views', number, views });
  } catch (error) {
    answer({ kind: 'unavailable', number, why: error instanceof Error ? error.message : String(error) });
  }
};
