import type { MessagePort, Worker } from 'node:worker_threads';
import type { BrokerConfig } from '@runledger/event-log/connect/broker-config';
import { parseJson } from '@runledger/contracts/json';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { LogLevel } from '@runledger/service-kit/logger';
import type { ProjectionPosition } from '../projection-start.decide.ts';
import type { StoredView } from '../run-view.ts';
import type { ViewSettings } from '../open-view-store.ts';
import { ViewsUnavailable } from '../run-views.ts';
import type { ArchivedRun, BuildProgress, ComparedSet } from './build-views.ts';
import { inBatches, type Difference } from './compare-views.decide.ts';
import type { Digests } from './prove-views.ts';

/** What every build has of its gateway. */
export interface BuildSettings {
  readonly config: BrokerConfig & ViewSettings;
  readonly instance: string;
  readonly level: LogLevel;
  /** `VIEW_VERSION`, but in tests. */
  readonly version: number;
}

/** What the thread begins with. */
export interface BuildOrder extends BuildSettings {
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
  | { readonly ask: 'load'; readonly keys: readonly RunKey[] }
  /** The next ones of the archive, and none at its end. */
  | { readonly ask: 'archived' };
type Found = readonly StoredView[] | readonly ArchivedRun[];

/** From the thread. */
export type FromBuilder =
  | { readonly kind: 'query'; readonly number: number; readonly query: Query }
  | { readonly kind: 'progress'; readonly progress: BuildProgress }
  | { readonly kind: 'built'; readonly built: Built };

/** To the thread. */
type ToBuilder =
  /** As JSON: a thread cannot be given numbers that are not doubles. */
  | { readonly kind: 'found'; readonly number: number; readonly found: string }
  | { readonly kind: 'unavailable'; readonly number: number; readonly why: string };

/** What only the process of the gateway has open. */
export interface ParentViews {
  readonly live: ComparedSet;
  readonly archived: AsyncIterable<ArchivedRun>;
}

/** The same as the thread sees it. */
export const askingParent = (parent: MessagePort): ParentViews => {
  const waiting = new Map<number, PromiseWithResolvers<Found>>();
  let asked = 0;
  parent.on('message', (message: ToBuilder) => {
    const waits = waiting.get(message.number);
    waiting.delete(message.number);
    if (message.kind === 'found') waits?.resolve(parseJson(message.found) as Found);
    else waits?.reject(new ViewsUnavailable(message.why));
  });
  const ask = async <One extends Found[number]>(query: Query): Promise<One[]> => {
    const waits = Promise.withResolvers<Found>();
    asked += 1;
    waiting.set(asked, waits);
    parent.postMessage({ kind: 'query', number: asked, query } satisfies FromBuilder);
    return [...((await waits.promise) as readonly One[])];
  };
  const archived = async function* (): AsyncGenerator<ArchivedRun> {
    for (;;) {
      const runs = await ask<ArchivedRun>({ ask: 'archived' });
      if (runs.length === 0) return;
      yield* runs;
    }
  };
  return {
    live: {
      listAll: ({ after, limit }) => ask<StoredView>({ ask: 'listAll', after, limit }),
      load: (keys) => ask<StoredView>({ ask: 'load', keys }),
    },
    archived: archived(),
  };
};

/** A view is made from the bodies. */
const withoutBytes = ({ life, webhook, isErased }: ArchivedRun): ArchivedRun => ({
  life: life.map(({ data: _data, ...message }) => message),
  webhook: webhook.map(({ data: _data, ...message }) => message),
  isErased,
});

const ARCHIVED_AT_ONCE = 100;

async function* oneByOne<Item>(items: AsyncIterable<Item>): AsyncGenerator<readonly Item[]> {
  for await (const item of items) yield [item];
}

/** Answers the queries of a thread. */
export const answering = (
  worker: Worker,
  { live, archived }: ParentViews,
): ((asked: Extract<FromBuilder, { kind: 'query' }>) => Promise<void>) => {
  const pages = inBatches(oneByOne(archived), ARCHIVED_AT_ONCE);
  const find = async (query: Query): Promise<Found> => {
    switch (query.ask) {
      case 'listAll':
        return live.listAll(query);
      case 'load':
        return live.load(query.keys);
      case 'archived':
        return ((await pages.next()).value ?? []).map(withoutBytes);
    }
  };
  const answer = (message: ToBuilder): void => worker.postMessage(message);
  return async ({ number, query }) => {
    try {
      answer({ kind: 'found', number, found: JSON.stringify(await find(query)) });
    } catch (error) {
      answer({ kind: 'unavailable', number, why: error instanceof Error ? error.message : String(error) });
    }
  };
};
